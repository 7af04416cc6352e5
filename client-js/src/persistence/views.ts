import type { Core } from '../core/core.js'
import { DogwoodError, isEnd } from '../core/errors.js'
import type { Link, Request } from '../core/link.js'
import { type Node, nodeFromJSON } from '../core/node.js'
import { queryId, wireQuery } from '../core/params.js'
import { formatPath, isWithin, overlaps, type Path, parsePath } from '../core/path.js'
import type { Spec, Subscription } from '../core/sync.js'
import { restore } from './restore.js'
import { type Storage, sizeOf, type ViewRecord } from './storage.js'

const SAVE_EVERY = 250

interface Live {
  readonly subscription: Subscription
  started: boolean // the listen was sent on
  loaded: boolean // the server, or the disk, has delivered the whole view
  confirmed: boolean // no part of it comes from the disk alone
  saved?: Node // what is on disk, or what it was when that was deleted
  /** Listeners to start when the disk has been read; undefined after that. */
  unread?: (() => void)[]
}

/**
 * The layer of a link that keeps views on disk. It shows a view at the next start before
 * the server has answered: a listen goes on to the server once the disk has been read,
 * with the hash of the saved view.
 */
export class SavedViews implements Link {
  private readonly live = new Map<string, Live>()
  private timer?: ReturnType<typeof setTimeout>
  private saving: Promise<void> = Promise.resolve()
  private failing = false // the last views were not saved
  private waiting: [path: Path, f: () => void][] = []
  private holding = false // a request waits for a listen

  constructor(
    private readonly below: Link,
    private readonly core: Core,
    private readonly storage: Storage,
    private readonly sizes: Map<string, [size: number, used: number]>,
    private readonly maxBytes: number
  ) {
    // On a new connection, the server has yet to answer the listens.
    core.states.add(state => {
      if (state === 'connected') for (const live of this.live.values()) live.confirmed &&= !live.started
    })
    this.schedule(SAVE_EVERY)
  }

  // ---- as a link

  listen(subscription: Subscription): void {
    void this.load(subscription)
  }

  unlisten(path: Path, id: string): void {
    const key = keyOf(path, id)
    const live = this.live.get(key)
    this.live.delete(key)
    if (live?.started) this.below.unlisten(path, id)
    // One that is on disk is saved again, so that the disk has when it was used.
    if (live?.loaded && !live.subscription.chg && (this.sizes.has(key) || isChanged(live)))
      void this.save([[key, live]])
    // Its listeners may have to wait for another view, which the caller is about to add.
    if (live) queueMicrotask(() => this.read(live))
    this.release()
    this.proceed()
  }

  send(...request: Parameters<Link['send']>): void {
    this.below.send(...request)
  }

  /**
   * Reports whether a request waits for the disk: a transaction goes after the listen that tells it
   * what is there. Before, it would be sent again and again with what it does not know.
   */
  holds({ kind, body }: Request): boolean {
    if (kind !== 'write' || !('h' in body)) return false
    const path = parsePath(body.p as string)
    const held = [...this.live.values()].some(
      ({ started, subscription }) => !started && !subscription.tag && isWithin(path, subscription.path)
    )
    this.holding ||= held
    return held
  }

  // proceed has what was held sent.
  private proceed(): void {
    const { connection } = this.core
    if (!this.holding || connection.state !== 'connected') return
    this.holding = false
    connection.sendAll()
  }

  // ---- views

  // Views that take long to save are saved less often.
  private schedule(delay: number): void {
    this.timer = setTimeout(async () => {
      const start = performance.now()
      await this.saveAll()
      if (this.timer) this.schedule(Math.max(SAVE_EVERY, 20 * (performance.now() - start)))
    }, delay)
    ;(this.timer as { unref?(): void }).unref?.()
  }

  stop(): Promise<void> {
    clearTimeout(this.timer)
    this.timer = undefined
    const saved = this.saveAll()
    this.live.clear() // so that the end of their listens saves nothing more
    return saved
  }

  /** Treats the disk as empty; live views are saved again when they change. */
  forgetAll(): void {
    this.sizes.clear()
    for (const live of this.live.values()) live.saved = live.subscription.cached().node
  }

  /** Saves the views that have changed. */
  saveAll(): Promise<void> {
    return this.save([...this.live].filter(([, live]) => live.loaded && isChanged(live)))
  }

  private async load(subscription: Subscription): Promise<void> {
    const { path, id, tag } = subscription
    const key = keyOf(path, id)
    const live: Live = {
      subscription,
      started: false,
      loaded: false,
      confirmed: false,
      unread: []
    }
    this.live.set(key, live)
    const saved = subscription.cached().full ? undefined : await this.fromDisk(key, subscription)
    if (this.live.get(key) !== live) return
    if (saved) {
      live.saved = saved
      live.loaded = true
      this.core.queue.raise(path, restore(this.core.treeWith(tag), path, saved, tag))
    } else this.confirm(live)
    this.read(live)
    if (this.live.get(key) !== live) return
    live.started = true
    const done: Subscription['done'] = (status, error) => {
      if (status === 'ok') live.loaded = true
      else if (!isEnd.test(status)) this.discard(key)
      queueMicrotask(() => this.confirm(live)) // after the data from the server is shown
      return subscription.done(status, error)
    }
    this.below.listen({ ...subscription, done })
    this.proceed()
  }

  // fromDisk returns the saved view, merged with data that listeners below it have loaded,
  // which is newer.
  private async fromDisk(key: string, { cached }: Subscription): Promise<Node | undefined> {
    const record = await this.storage.view(key).catch(() => undefined)
    try {
      if (!record) return undefined
      const json = JSON.parse(record[0])
      const kids = cached().node.kids.map(([key, child]) => [key, child.toJSON(true)])
      return nodeFromJSON(kids.length ? { ...json, ...Object.fromEntries(kids) } : json)
    } catch {
      this.sizes.delete(key)
      await this.storage.discardView(key)
      return undefined
    }
  }

  // read starts the listeners that waited for this view, or has them wait for another one.
  private read(live: Live): void {
    const { unread = [] } = live
    live.unread = undefined
    for (const f of unread) f()
  }

  /**
   * Defers `f` until the disk has been read for `spec`: for its own view, and those that
   * cover it. False if it has been read already; then `f` is not called.
   */
  defer(spec: Spec, f: () => void): boolean {
    const { path, params } = spec
    const keys = [keyOf(path, queryId(wireQuery(params)))]
    for (let i = 0; i <= path.length; i++) keys.push(keyOf(path.slice(0, i), 'default'))
    const unread = keys.map(key => this.live.get(key)?.unread).find(Boolean)
    unread?.push(() => this.defer(spec, f) || f())
    return !!unread
  }

  /** Calls `f` once no view above or below `path` comes from the disk alone. */
  whenConfirmed(path: Path, f: () => void): void {
    const open = [...this.live.values()].some(
      ({ confirmed, subscription }) => !confirmed && overlaps(subscription.path, path)
    )
    if (open) this.waiting.push([path, f])
    else f()
  }

  private confirm(live: Live): void {
    live.confirmed = true
    this.release()
  }

  private release(): void {
    for (const [path, f] of this.waiting.splice(0)) this.whenConfirmed(path, f)
  }

  // discard deletes a saved view that this user may not read.
  private discard(key: string): void {
    this.live.delete(key)
    this.sizes.delete(key)
    void this.storage.saveViews(new Map(), [key]).catch(() => {})
  }

  private save(changed: readonly [string, Live][]): Promise<void> {
    const records = new Map<string, ViewRecord>()
    for (const [key, live] of changed) {
      live.saved = live.subscription.cached().node
      const text = JSON.stringify(live.saved.toJSON(true))
      if (text.length * 2 > this.maxBytes) continue
      const size = sizeOf(key, text)
      records.set(key, [text, size, Date.now()])
      this.sizes.set(key, [size, Date.now()])
    }
    if (!records.size) return this.saving
    // A full disk must not disturb the database, which works without it.
    const write = async () => {
      try {
        await this.storage.saveViews(records, this.surplus())
        this.failing = false
      } catch (error) {
        const first = !this.failing
        this.failing = true
        if (first) this.storage.report(new DogwoodError('NOT_SAVED', `views are not on disk: ${error}`))
      }
    }
    this.saving = this.saving.then(write)
    return this.saving
  }

  // surplus returns the views to delete, the least recently used first.
  private surplus(): string[] {
    let total = 0
    for (const [size] of this.sizes.values()) total += size
    const surplus: string[] = []
    for (const [key, [size]] of [...this.sizes].sort((a, b) => a[1][1] - b[1][1])) {
      if (total <= this.maxBytes) break
      if (this.live.has(key)) continue
      total -= size
      this.sizes.delete(key)
      surplus.push(key)
    }
    return surplus
  }
}

// A listen for changes or notices has no view.
const isChanged = ({ saved, subscription }: Live): boolean =>
  !subscription.chg && subscription.cached().node !== saved

const keyOf = (path: Path, id: string): string => `${formatPath(path)} ${id}`
