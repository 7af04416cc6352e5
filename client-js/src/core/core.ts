import { withPath } from './change.js'
import { Connection } from './connection.js'
import { type Answer, errorOf } from './errors.js'
import { EventQueue, guard } from './events.js'
import type { Handler, Link } from './link.js'
import { EMPTY, leaf, type Node, nodeFromJSON } from './node.js'
import { coverAll, overlay } from './overlay.js'
import { formatPath, type Path } from './path.js'
import type { Priority } from './scalar.js'
import { estimate } from './servervalue.js'
import type { LiveStore } from './store.js'
import {
  type Event,
  FilteredTree,
  type Listener,
  type Listeners,
  type Selection,
  type Spec,
  SyncTree
} from './sync.js'
import type { ConnectionState, Target } from './target.js'
import { checkPriority, checkUpdate, checkValue } from './validate.js'
import type { Write } from './writes.js'

/** The running transactions; made when the first one starts. */
export interface Transactions {
  /** Aborts those that conflict with a write at `path`. Returns the highest path affected. */
  abort(path: Path): Path
  /** Reruns those that depend on `path`. Returns the highest path they may have changed. */
  rerun(path: Path): Path
}

/** A Core is one database as this client sees it. */
export class Core implements LiveStore, Handler {
  readonly queue = new EventQueue()
  readonly sync: SyncTree
  readonly connection: Connection
  /** Carries requests to the server: the connection, or the uppermost layer above it. */
  link: Link
  /** Takes listeners: `sync`, or a layer above it. */
  listeners: Listeners
  readonly states = new Set<(state: ConnectionState, reason?: string) => void>()
  transactions?: Transactions
  /** The onDisconnect operations that the server has accepted; see `disconnect.ts`. */
  readonly plan = overlay()
  /** Called when a connection is lost. */
  onLost?: () => void
  private info = EMPTY
  private offset = 0 // of the clock of the server
  /** The views of queries with a filter. */
  readonly filtered: SyncTree
  /** What takes pushes with a tag that belongs to no view. */
  readonly feeds = new Map<number, (path: Path, data: unknown, merge: boolean) => Event[]>()
  /** The views of what is below .info. */
  readonly infoSync: SyncTree
  /** The number of the last write. */
  writeIds = 0

  constructor(readonly target: Target) {
    this.link = this.connection = new Connection(target, this)
    this.listeners = this.sync = new SyncTree(this)
    this.filtered = new FilteredTree(this)
    this.infoSync = new SyncTree({
      link: {
        listen: ({ path, done }) => {
          this.connection.hurry() // a listener below .info wants a connection
          const node = this.info.at(path)
          if (node.empty) return
          setTimeout(() => done('ok'))
          return this.infoSync.set(path, node)
        },
        unlisten() {}
      }
    })
    this.tell('connected', false)
  }

  /** The time by the clock of the server. */
  now(): number {
    return Date.now() + this.offset
  }

  // ---- listening

  listen(spec: Spec, listener: Listener): void {
    this.queue.raise(spec.path, this.treeOf(spec).add(spec, listener), true)
  }

  unlisten(spec: Spec, which: Selection): void {
    this.queue.raise(spec.path, this.treeOf(spec).remove(spec, which), true)
  }

  // ---- writing

  /** Replaces what is at `path`. */
  set(path: Path, value: unknown, priority: Priority = null): Promise<void> {
    checkPriority(priority)
    checkValue(value, path)
    const node = nodeFromJSON(value, priority)
    return this.submit({ path, merge: false, ...this.estimates([[path, node]]) }, node.toJSON(true), [path])
  }

  /** Replaces what is at several paths below `path`. */
  update(path: Path, values: object): Promise<void> {
    const paths = checkUpdate(values, path)
    if (!paths.length) return Promise.resolve()
    const raw = Object.values(values).map((value, i) => [paths[i]!, nodeFromJSON(value)] as const)
    return this.submit({ path, merge: true, ...this.estimates(raw) }, values, paths)
  }

  /** What the server will probably make of `node` at `path`. */
  estimate(node: Node, path: Path): Node {
    return estimate(node, this.now(), relative => this.sync.latest([...path, ...relative]))
  }

  /** What the server will probably make of changes, with what that comes from. */
  estimates(raw: Write['changes']): Pick<Write, 'changes' | 'raw'> {
    const changes = raw.map(([at, node]) => [at, this.estimate(node, at)] as const)
    const same = changes.every(([, node], i) => node === raw[i]![1])
    return same ? { changes } : { changes, raw: { changes: raw, now: this.now() } }
  }

  /**
   * Shows a write, sends it, and settles it when the server has answered. With `v`
   * the promise resolves with the server values as the server has resolved them.
   */
  submit(
    write: Pick<Write, 'path' | 'merge' | 'changes' | 'raw'>,
    json: unknown,
    affected: readonly Path[],
    writeId?: string,
    v?: 1
  ): Promise<any> {
    const { path, merge } = write
    const id = ++this.writeIds
    this.queue.add(this.sync.write({ ...write, id, visible: true }))
    const result = new Promise((resolve, reject) => {
      const done = (answer: Answer) => {
        const ok = answer.s === 'ok'
        const events = this.sync.settle(id, !ok || !!answer.again)
        this.queue.raise(merge && events.length ? this.rerun(path) : path, events)
        if (ok) resolve(v && answer.d)
        else reject(errorOf(answer, body.p, merge ? 'update' : 'set'))
        // A program that deletes a database need not handle the end of its writes.
        if (answer.s === 'closed') result.catch(() => {})
      }
      const body = { p: formatPath(path), d: json, v }
      this.link.send('write', merge ? 'm' : 'p', body, done, writeId)
    })
    let last = path
    for (const at of affected) this.rerun((last = this.transactions?.abort(at) ?? at))
    this.queue.raise(merge ? path : last)
    return result
  }

  private rerun(path: Path): Path {
    return this.transactions?.rerun(path) ?? path
  }

  // ---- reports of the connection

  push(path: Path, data: unknown, merge: boolean, tag?: number): void {
    const feed = this.feeds.get(tag!)
    if (feed) return this.queue.raise(path, feed(path, data, merge))
    const content = overlay(merge ? undefined : nodeFromJSON(data))
    if (merge) coverAll(content, [], data as object)
    const events = this.treeWith(tag).news({ type: 'sent', path, data: content }, tag)
    this.queue.raise(events.length ? this.rerun(path) : path, events)
  }

  events(path: Path, events: Event[]): void {
    this.queue.raise(path, events)
  }

  clock(offset: number): void {
    this.offset = offset
    this.tell('serverTimeOffset', offset)
  }

  connected(connected: boolean): void {
    this.tell('connected', connected)
    if (!connected) this.onLost?.()
  }

  state(state: ConnectionState, reason?: string): void {
    for (const f of [...this.states]) guard(() => f(state, reason))
  }

  // tell sets a value below .info.
  private tell(key: string, value: string | number | boolean): void {
    const path = ['.info', key]
    this.info = withPath(this.info, path, leaf(value))
    this.queue.raise(path, this.infoSync.set(path, leaf(value)))
  }

  private treeOf({ path, params }: Spec): Listeners {
    return path[0] === '.info' ? this.infoSync : params.filter ? this.filtered : this.listeners
  }

  /** The tree that has the views of a listen. */
  treeWith(tag: number | undefined): SyncTree {
    return this.filtered.serves(tag) ? this.filtered : this.sync
  }
}
