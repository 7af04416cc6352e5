import { withChild } from './change.js'
import { type DogwoodError, isEnd } from './errors.js'
import type { Lacks } from './lacking.js'
import { EMPTY, type Node } from './node.js'
import { cover, type Overlay, overlay, sortedKids } from './overlay.js'
import { loadsAll, type Params, queryId, wireQuery } from './params.js'
import { formatPath, isWithin, type Path } from './path.js'
import { type Cache, type Change, type EventType, forChild, type Operation, View } from './view.js'
import { say } from './warn.js'
import { type Write, Writes } from './writes.js'

/** What a listener observes: a location, and which part of it in which order. */
export interface Spec {
  readonly path: Path
  readonly params: Params
}

/** A listener for one kind of event. */
export interface Listener {
  readonly type: EventType
  /** The function that the user passed; `off` finds listeners by it. */
  readonly callback: unknown
  next(change: Change, spec: Spec): void
  error?(error: Error): void
}

/** A pending call of a listener, and the location it concerns. */
export interface Event {
  readonly path: Path
  run(): void
}

/** Selects the listeners that match, or only the first of them. */
export interface Selection {
  matches(listener: Listener): boolean
  readonly first?: boolean
}

const all: Selection = { matches: () => true }

/** A listen as the server knows it. */
export interface Subscription {
  readonly path: Path
  readonly id: string
  /** Undefined for the whole location. */
  readonly query?: object
  readonly tag?: number
  /** The data that has been loaded so far. */
  cached(): Cache
  /**
   * The same for a new connection. With `resumes` the server says what has changed since the
   * last one: then it is without what `expect` has added.
   */
  again(resumes: boolean): Cache
  done(status: string, error?: Error): Event[]
  /** What asks for it; undefined for "q". */
  readonly action?: 'q' | 'nt'
  /** Of a listen for changes or notices: 1 while it has missed none, and so needs no view first. */
  chg?(): 1 | undefined
  /** Of a listen that not every server understands: it would answer with something else. */
  readonly lacks?: Lacks
}

/** The fields by which the protocol identifies a listen. */
export const named = ({ path, query, tag }: Subscription) => ({
  p: formatPath(path),
  ...(tag && { q: query, t: tag })
})

/** Where listeners are added and removed: a SyncTree, or a layer above it. */
export interface Listeners {
  /** Returns the first events of the listener, as far as the data is cached. */
  add(spec: Spec, listener: Listener): Event[]
  /** Removes the listeners of a query that match; for a plain location, of all its queries. */
  remove(spec: Spec, which: Selection): Event[]
}

/** Where the data of listens comes from. */
export interface Provider {
  /** Returns the events of data that is there at once. */
  listen(subscription: Subscription): Event[] | void
  unlisten(path: Path, id: string): void
}

/** The owner of a tree. Its link is looked up for each listen, since a layer may be put above it. */
export interface Linked {
  readonly link: Provider
}

/** A view and its listeners. */
export interface Tracked {
  readonly spec: Spec
  readonly id: string
  readonly tag?: number
  readonly view: View
  listeners: Listener[]
}

/** A location with the views of its listeners, and those of what is below. */
export interface Point {
  readonly views: Map<string, Tracked>
  readonly kids: Map<string, Point>
}

const point = (): Point => ({ views: new Map(), kids: new Map() })

const idOf = (spec: Spec): string => queryId(wireQuery(spec.params))

let tags = 0

/** A tag that no listen has. */
export const newTag = (): number => ++tags

/**
 * A SyncTree holds the views of all listeners and the pending writes. It turns local
 * writes and pushes of the server into events, and sends the server exactly the listens
 * that the listeners need.
 */
export class SyncTree implements Listeners {
  readonly writes = new Writes()
  private readonly root = point()
  private readonly tagged = new Map<number, Tracked>()

  constructor(private readonly owner: Linked) {}

  // ---- data from the server

  /** Applies an operation to all views above and below its path, or to the one with the tag. */
  news(op: Operation, tag?: number): Event[] {
    if (!tag) return this.visit(op)
    const tracked = this.tagged.get(tag)
    const at = tracked?.spec.path
    if (!at || !isWithin(op.path, at)) return []
    return tell(tracked, { ...op, path: op.path.slice(at.length), tagged: true }, null)
  }

  /** The server has `node` at `path`. */
  set(path: Path, node: Node, tag?: number): Event[] {
    return this.news({ type: 'sent', path, data: overlay(node) }, tag)
  }

  /** The server will have `node` at `path`, though it cannot say so: the connection is lost. */
  expect(path: Path, node: Node): Event[] {
    return this.visit({ type: 'sent', path, data: overlay(node), expected: true })
  }

  // ---- writes

  /** Adds a pending write and shows it. */
  write(write: Write): Event[] {
    this.writes.add(write)
    if (!write.visible) return []
    return this.visit({ type: 'write', path: write.path, data: changesOf(write) })
  }

  /**
   * Ends a pending write: the server has taken it, or it is undone. A write that the server
   * took before it last sent the views also counts as undone, since the views are newer.
   */
  settle(id: number, undone: boolean): Event[] {
    const write = this.writes.remove(id)
    if (!write) return []
    return this.visit({ type: undone ? 'undo' : 'ack', path: write.path, data: changesOf(write) })
  }

  /**
   * What is at `path` as far as known, with all writes but `except`; `otherwise` is there if
   * nothing is known.
   */
  latest(path: Path, except: readonly number[] = [], otherwise: Node | null = null): Node {
    return this.writes.latest(path, this.known(path) ?? otherwise, except)
  }

  /** The value that answers a read without the server, or null. */
  cached(spec: Spec): Node | null {
    const view = this.find(spec.path)?.views.get(idOf(spec))?.view
    const known = view ? null : this.known(spec.path)
    const { shown } = view ?? new View(spec.params, spec.path, this.writes, known ?? EMPTY, !!known)
    return shown.full ? shown.node : null
  }

  /** Reports whether a listen with the tag is of this tree. */
  serves(tag: number | undefined): boolean {
    return this.tagged.has(tag!)
  }

  /** The tag of a query that is listened to. */
  tagOf(spec: Spec): number | undefined {
    return this.find(spec.path)?.views.get(idOf(spec))?.tag
  }

  // ---- listeners

  add(spec: Spec, listener: Listener): Event[] {
    const { path, params } = spec
    const known = this.known(path)
    const covered = this.covers(path)
    let at = this.root
    for (const key of path) {
      const kid = at.kids.get(key) ?? point()
      at.kids.set(key, kid)
      at = kid
    }
    const id = idOf(spec)
    const exists = at.views.has(id)
    let tracked = at.views.get(id)
    if (!tracked) {
      const view = new View(params, path, this.writes, known ?? fromKids(at), !!known)
      tracked = { spec, id, view, listeners: [], tag: loadsAll(params) ? undefined : newTag() }
      at.views.set(id, tracked)
      if (tracked.tag) this.tagged.set(tracked.tag, tracked)
    }
    tracked.listeners.push(listener)
    const events = eventsOf(tracked, tracked.view.initial(), [listener])
    if (exists || covered) return events
    const more = this.owner.link.listen(this.subscription(tracked)) ?? []
    if (!tracked.tag) for (const below of heads(at)) this.stop(below)
    return events.concat(more)
  }

  /**
   * Removes listeners of a query; for the plain location, of all its queries.
   * With an error, their error callbacks are called.
   */
  remove(spec: Spec, which: Selection, error?: Error): Event[] {
    const { path } = spec
    const at = this.find(path)
    const id = idOf(spec)
    if (!at) return []
    let events: Event[] = []
    const gone: Tracked[] = []
    for (const tracked of [...at.views.values()]) {
      if (id !== 'default' && tracked.id !== id) continue
      events = events.concat(drop(tracked, which, error))
      if (tracked.listeners.length) continue
      at.views.delete(tracked.id)
      if (tracked.tag) this.tagged.delete(tracked.tag)
      gone.push(tracked)
    }
    if (!this.covers(path)) {
      const whole = gone.find(({ tag }) => !tag)
      if (whole) for (const below of heads(at)) this.owner.link.listen(this.subscription(below))
      if (!error) for (const tracked of whole ? [whole] : gone) this.stop(tracked)
    }
    this.prune(path)
    return events
  }

  private stop({ spec, tag, id }: Tracked): void {
    this.owner.link.unlisten(spec.path, tag ? id : 'default')
  }

  private subscription(tracked: Tracked): Subscription {
    const { spec, tag, view } = tracked
    const { path } = spec
    return {
      path,
      tag,
      id: tag ? tracked.id : 'default',
      query: tag ? wireQuery(spec.params) : undefined,
      lacks: spec.params.filter?.lacks,
      cached: () => view.server,
      again: resumes => this.again(tracked, resumes),
      done: (status, error) => {
        if (status !== 'ok') return this.remove(spec, all, error)
        return this.news({ type: 'listened', path, data: overlay(EMPTY) }, tag)
      }
    }
  }

  // again goes for the views that the listen covers, too.
  private again({ spec: { path }, tag, view }: Tracked, resumes: boolean): Cache {
    const expected = !!view.before
    const server = view.again(resumes)
    const cover = (at: Point, node: Node): void => {
      for (const other of at.views.values())
        if (other.view !== view) other.view.again(resumes, expected ? { ...server, node } : undefined)
      for (const [key, kid] of at.kids) cover(kid, node.child(key))
    }
    const at = this.find(path)
    if (at && !tag) cover(at, server.node)
    return server
  }

  // ---- the tree of views

  // way is the points from the root to `path`, as far as there are any.
  private way(path: Path): Point[] {
    const way = [this.root]
    for (const key of path) {
      const kid = way.at(-1)!.kids.get(key)
      if (!kid) break
      way.push(kid)
    }
    return way
  }

  /** The views at and below `path`. */
  find(path: Path): Point | undefined {
    return this.way(path)[path.length]
  }

  // covers reports whether a view of all of a location, at or above `path`, has its data.
  private covers(path: Path): boolean {
    return this.way(path).some(wholeView)
  }

  // known is what the server has at `path`, if some view holds all of it.
  known(path: Path): Node | null {
    for (const [i, at] of this.way(path).entries()) {
      const node = knownAt(at, path.slice(i))
      if (node) return node
    }
    return null
  }

  private prune(path: Path): void {
    const way = this.way(path)
    for (let i = path.length; i && !way[i]!.views.size && !way[i]!.kids.size; i--) {
      way[i - 1]!.kids.delete(path[i - 1]!)
    }
  }

  // visit applies an operation to all views above and below op.path, the deepest first.
  private visit(op: Operation, at: Point = this.root, known?: Node | null): Event[] {
    known ??= knownAt(at, [])
    const front = op.path[0]
    const kid = front !== undefined && at.kids.get(front)
    const kids: [string, Point][] = kid ? [[front as string, kid]] : op.path.length ? [] : sortedKids(at.kids)
    const events = kids.flatMap(([key, kid]) => {
      const below = forChild(op, key)
      return below ? this.visit(below, kid, known?.child(key)) : []
    })
    return events.concat([...at.views.values()].flatMap(tracked => tell(tracked, op, known)))
  }
}

/**
 * The views of queries with a filter. Whether a child matches is for the server to say, so no other
 * view serves them, and no write is shown that the server has not told of.
 */
export class FilteredTree extends SyncTree {
  override known(): null {
    return null
  }
}

function changesOf(write: Write): Overlay {
  const data = overlay()
  for (const [path, node] of write.changes) cover(data, path.slice(write.path.length), node)
  return data
}

// wholeView finds a view that loads the whole location, whatever its order.
const wholeView = (at: Point): Tracked | undefined => [...at.views.values()].find(({ tag }) => !tag)

/** What the server has at `path` below a point, if a view at the point has it. */
export function knownAt(at: Point, path: Path): Node | null {
  for (const { view } of at.views.values()) {
    const node = view.known(path)
    if (node) return node
  }
  return null
}

// fromKids puts together the data that listens below a location have loaded.
function fromKids(at: Point): Node {
  let node = EMPTY
  for (const [key, kid] of sortedKids(at.kids)) {
    const child = knownAt(kid, [])
    if (child) node = withChild(node, key, child)
  }
  return node
}

// heads returns the uppermost views below a point, and the queries at it: those that need
// a listen of their own if no view of all of the location, or above, covers them.
function heads(at: Point): Tracked[] {
  const list = [...at.views.values()].filter(tracked => tracked.tag)
  return list.concat(
    sortedKids(at.kids).flatMap(([, kid]) => {
      const whole = wholeView(kid)
      return whole ? [whole] : heads(kid)
    })
  )
}

function tell(tracked: Tracked, op: Operation, known: Node | null): Event[] {
  return eventsOf(tracked, tracked.view.apply(op, known), tracked.listeners)
}

function eventsOf({ spec }: Tracked, changes: readonly Change[], listeners: readonly Listener[]): Event[] {
  return changes.flatMap(change =>
    listeners
      .filter(({ type }) => type === change.type)
      .map(listener => ({ path: spec.path, run: () => listener.next(change, spec) }))
  )
}

// warnOf says in the console that a listener has ended which has no callback for that. The
// end of all of a database has words of its own.
function warnOf(error: Error): void {
  if (!isEnd.test((error as DogwoodError).code)) say(`a listener has ended: ${error.message}`)
}

function drop(tracked: Tracked, { matches, first }: Selection, error?: Error): Event[] {
  const found = tracked.listeners.filter(matches)
  const gone = new Set(first ? found.slice(0, 1) : found)
  tracked.listeners = tracked.listeners.filter(listener => !gone.has(listener))
  if (!error) return []
  if ([...gone].some(l => !l.error)) warnOf(error)
  return [...gone].flatMap(l => (l.error ? [{ path: tracked.spec.path, run: () => l.error!(error) }] : []))
}
