import type { Core } from '../core/core.js'
import { EMPTY, type Node, nodeFromJSON } from '../core/node.js'
import { formatPath, type Path } from '../core/path.js'
import type { Subscription } from '../core/sync.js'
import type { Storage, ViewRecord } from './storage.js'

const SAVE_EVERY = 250

interface Live {
  readonly subscription: Subscription
  started: boolean // the server was asked
  loaded: boolean // the server, or the disk, has given the whole view
  saved: Node
}

/**
 * Keeps what is listened to on disk, and shows it at the next start before the
 * server has answered. It stands between a core and its connection: a listen
 * goes to the server when the disk was read, with the hash of what was there.
 */
export class Views {
  private readonly live = new Map<string, Live>()
  private timer?: ReturnType<typeof setTimeout>
  private readonly sizes: Map<string, [size: number, used: number]>
  private saving: Promise<void> = Promise.resolve()

  constructor(
    private readonly core: Core,
    private readonly storage: Storage,
    sizes: Map<string, [size: number, used: number]>,
    private readonly maxBytes: number
  ) {
    this.sizes = sizes
    const { connection } = core
    const listen = connection.listen.bind(connection)
    const unlisten = connection.unlisten.bind(connection)
    connection.listen = subscription => void this.load(subscription, listen)
    connection.unlisten = (path, id, tag) => {
      const key = keyOf(path, id)
      const live = this.live.get(key)
      this.live.delete(key)
      if (live?.started) unlisten(path, id, tag)
      if (live?.loaded) void this.save([[key, live]])
    }
    this.schedule(SAVE_EVERY)
  }

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
    return this.saveAll()
  }

  /** Forgets what is on disk; what is listened to is saved again when it changes. */
  forgetAll(): void {
    this.sizes.clear()
    for (const live of this.live.values()) live.saved = live.subscription.cached()
  }

  /** Saves what has changed. */
  saveAll(): Promise<void> {
    return this.save(
      [...this.live].filter(
        ([, { loaded, saved, subscription }]) => loaded && subscription.cached() !== saved
      )
    )
  }

  private async load(
    subscription: Subscription,
    listen: (subscription: Subscription) => void
  ): Promise<void> {
    const { path, id, tag } = subscription
    const key = keyOf(path, id)
    const live: Live = { subscription, started: false, loaded: false, saved: EMPTY }
    this.live.set(key, live)
    const record = subscription.cached().empty
      ? await this.storage.view(key).catch(() => undefined)
      : undefined
    if (this.live.get(key) !== live) return
    if (record) {
      live.saved = nodeFromJSON(JSON.parse(record[0]))
      live.loaded = true
      const { sync, queue } = this.core
      queue.raise(path, sync.set(path, live.saved, tag))
    }
    if (this.live.get(key) !== live) return
    live.started = true
    const done: Subscription['done'] = (status, error) => {
      if (status === 'ok') live.loaded = true
      else this.discard(key)
      return subscription.done(status, error)
    }
    listen({ ...subscription, done })
  }

  // discard forgets a view that this user may not see.
  private discard(key: string): void {
    this.live.delete(key)
    this.sizes.delete(key)
    void this.storage.saveViews(new Map(), [key]).catch(() => {})
  }

  private save(changed: readonly [string, Live][]): Promise<void> {
    const records = new Map<string, ViewRecord>()
    for (const [key, live] of changed) {
      live.saved = live.subscription.cached()
      const text = JSON.stringify(live.saved.toJSON(true))
      if (text.length * 2 > this.maxBytes) continue
      records.set(key, [text, text.length, Date.now()])
      this.sizes.set(key, [text.length, Date.now()])
    }
    if (!records.size) return this.saving
    // A disk that is full must not disturb what works without it.
    const write = () => this.storage.saveViews(records, this.surplus()).catch(() => {})
    this.saving = this.saving.then(write)
    return this.saving
  }

  // surplus returns the views to delete, those not used for the longest first.
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

const keyOf = (path: Path, id: string): string => `${formatPath(path)} ${id}`
