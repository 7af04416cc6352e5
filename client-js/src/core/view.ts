import { equals, isMove, kept, withChild, withPath, withPriority } from './change.js'
import { EMPTY, type Entry, lowerBound, type Node } from './node.js'
import { compareEntries } from './order.js'
import {
  applied,
  appliedToChildren,
  forEachNode,
  isBlank,
  type Overlay,
  overlayAt,
  sortedKids
} from './overlay.js'
import { inRange, loadsAll, type Params } from './params.js'
import type { Path } from './path.js'
import type { Writes } from './writes.js'

export type EventType = 'value' | 'child_added' | 'child_changed' | 'child_moved' | 'child_removed'

/** What happened to a view. `previous` is the key before the child's new place. */
export interface Change {
  readonly type: EventType
  readonly key: string | null
  readonly node: Node
  readonly previous?: string | null
}

/**
 * An operation is news for a view, with its path relative to the view:
 *
 * - `sent`: the server has sent data
 * - `listened`: the server has sent all there is
 * - `write`: the user of this client has written
 * - `ack`, `undo`: such a write has ended; the server has taken it, or it does not count
 */
export interface Operation {
  readonly type: 'sent' | 'listened' | 'write' | 'ack' | 'undo'
  readonly path: Path
  readonly data: Overlay
  /** Meant for one query. */
  readonly tagged?: boolean
  /** The server did not send it, but will have done it. */
  readonly expected?: boolean
}

/** A node as far as it is known. */
export interface Cache {
  readonly node: Node
  /** All of the node is known, or, of a filtered one, all that the query shows. */
  readonly full: boolean
  /** Children outside of the query are missing. */
  readonly filtered: boolean
}

const knows = (c: Cache, key: string): boolean => (c.full && !c.filtered) || c.node.has(key)

/** A child that has changed; EMPTY where it is missing. */
interface Difference {
  readonly key: string
  readonly old: Node
  readonly node: Node
}

// entryOf is a changed child as it is, or if it is gone, as it was.
const entryOf = ({ key, old, node }: Difference): Entry => [key, node.empty ? old : node]

const knowsPath = (c: Cache, path: Path): boolean =>
  path.length ? knows(c, path[0]!) : c.full && !c.filtered

/**
 * A View keeps what one query shows: what the server sent (`server`), and that with the
 * pending writes on it (`shown`). Operations go in, changes come out. The changes are the
 * difference between what was shown before and after.
 *
 * A design that was tried and rejected: `shown` as a function of `server` and the pending
 * writes, as in the replica of sdk-go. Then one random history in twenty differs from the
 * official client, whose views remember more:
 *
 * - A write that the server has taken stays shown until the server sends that location. Until
 *   then neither `server` nor the pending writes have it, if the view is not loaded yet or the
 *   child is outside of the window that the server sent.
 * - When a write is undone and an earlier one covers the same location, the view goes on
 *   showing the later one, until the earlier one ends.
 * - When a child leaves a full window, the next one comes from a view of the whole location,
 *   if there is one, else from the window and the pending writes, even those below children
 *   that the server has not sent. It stays when the function would not show it.
 * - A pending priority of a location that does not exist yet is not shown by this view when
 *   the server then sends something below that location, but by views that are made later.
 */
export class View {
  server: Cache
  shown: Cache
  /** What `server` was before something that was only expected. */
  before?: Cache
  private readonly filters: boolean
  // Of the operation at hand: the children that it may have changed, and the whole node on
  // the server, if another view has it.
  private touched = new Set<string>()
  private complete: Node | null = null

  constructor(
    readonly params: Params,
    private readonly path: Path,
    private readonly writes: Writes,
    server: Node,
    full: boolean
  ) {
    this.filters = !loadsAll(params)
    this.server = { node: server, full, filtered: false }
    const over = this.over()
    const known = full || !!over.node
    const node = known ? applied(over, server) : appliedToChildren(over, server)
    this.shown = { node: this.window(node), full: known, filtered: this.filters }
  }

  /** What the server is known to have at `path`, or null if that is unknown. */
  known(path: Path): Node | null {
    const { node, full } = this.server
    const whole = !this.filters || (path.length > 0 && node.has(path[0]!))
    return full && whole ? node.at(path) : null
  }

  /** Forgets what was before, or puts it back; what is shown follows when the server has answered. */
  again(back: boolean, before = this.before): Cache {
    if (back && before) this.server = before
    this.before = undefined
    return this.server
  }

  /** The changes that bring a new listener up to date. */
  initial(): Change[] {
    const { node, full } = this.shown
    return this.events(
      node.kids.map(([key, node]) => ({ key, old: EMPTY, node })),
      full
    )
  }

  /** Applies `op`. `complete` is the whole node on the server, if another view has it. */
  apply(op: Operation, complete: Node | null): Change[] {
    const { shown: before, server } = this
    const { type, path, data, tagged } = op
    this.complete = complete
    this.touched = new Set()
    if (op.expected) this.before ??= server
    if (type === 'write') this.write(path, data)
    else if (type === 'ack') this.ack(path, data)
    else if (type === 'undo') this.undo(path)
    else if (type === 'listened') {
      this.server = { ...server, full: server.full || !path.length }
      this.follow(path)
    } else if (data.node) this.serverSet(path, data.node, !!tagged || (server.filtered && path.length > 0))
    else this.serverMerge(path, data, !!tagged || server.filtered)
    const { node, full } = this.shown
    const old = before.node
    const changes = [...this.touched]
      .map(key => ({ key, old: old.child(key), node: node.child(key) }))
      .filter(({ old, node }) => !equals(old, node))
    const same = !changes.length && node.value === old.value && node.priority === old.priority
    return this.events(changes, full && !(before.full && same))
  }

  // events tells of changes in the order of their kinds, and each kind in that of the query.
  private events(changes: readonly Difference[], value: boolean): Change[] {
    const { index } = this.params
    const { node: shown } = this.shown
    const list = shown.ordered(index)
    const sorted = [...changes].sort((a, b) => compareEntries(index, entryOf(a), entryOf(b)))
    const both = sorted.filter(({ old, node }) => !old.empty && !node.empty)
    const kinds: [EventType, Difference[]][] = [
      ['child_removed', sorted.filter(({ node }) => node.empty)],
      ['child_added', sorted.filter(({ old }) => old.empty)],
      ['child_moved', both.filter(({ old, node }) => isMove(index, old, node))],
      ['child_changed', both]
    ]
    const result = kinds.flatMap(([type, differences]) =>
      differences.map((difference): Change => {
        const entry = entryOf(difference)
        const at = lowerBound(list, e => compareEntries(index, e, entry))
        const previous = difference.node.empty ? undefined : (list[at - 1]?.[0] ?? null)
        return { type, key: entry[0], node: entry[1], previous }
      })
    )
    if (value) result.push({ type: 'value', key: null, node: shown })
    return result
  }

  private over(path: Path = []): Overlay {
    return this.writes.at([...this.path, ...path])
  }

  // replace shows the window of `node` in place of all that is shown.
  private replace(node: Node, full: boolean): void {
    const next = this.window(node)
    for (const [key] of [...this.shown.node.kids, ...next.kids]) this.touched.add(key)
    this.show(next, full)
  }

  private show(node: Node, full: boolean): void {
    this.shown = { node, full, filtered: this.filters }
  }

  // ---- what the server says

  private serverSet(path: Path, node: Node, filter: boolean): void {
    const { server } = this
    const filters = filter && this.filters
    const [key, ...rest] = path
    // News of a child that was never loaded is meant for another listener.
    if (rest.length && !knowsPath(server, path)) return
    let next = node
    if (key !== undefined) {
      const child = withPath(server.node.child(key), rest, node)
      next = this.put(server.node, key, child, filters && server.filtered)
    }
    if (key === undefined || !server.filtered) next = this.window(next, filters)
    this.server = { node: next, full: server.full || key === undefined, filtered: filters }
    this.follow(path)
  }

  private serverMerge(path: Path, data: Overlay, filter: boolean): void {
    const { server } = this
    // Without a view this was meant for an earlier listen here.
    if (server.node.empty && !server.full) return
    const tree = path.reduceRight((below, key) => ({ kids: new Map([[key, below]]) }), data)
    // What is in the window goes first, so that it makes room before others enter.
    for (const inside of [true, false]) {
      for (const [key, kid] of sortedKids(tree.kids)) {
        if (server.node.has(key) !== inside || !(inside || kid.node || knows(server, key))) continue
        let child = server.node.child(key)
        forEachNode(kid, (path, node) => {
          child = withPath(child, path, node)
        })
        this.serverSet([key], child, filter)
      }
    }
  }

  // follow brings `shown` up to date after news from the server at `path`.
  private follow(path: Path): void {
    const { shown, server } = this
    const over = this.over(path)
    if (over.node) return
    const [key, ...rest] = path
    // Of a filtered node only whole children are known: deep writes outside
    // of them would show fragments.
    const overlaid = server.filtered ? appliedToChildren : applied
    if (key === undefined) return this.replace(overlaid(over, server.node), true)
    const child =
      key === '.priority' || knows(shown, key)
        ? withPath(shown.node.child(key), rest, applied(over, server.node.at(path)))
        : this.completeChild(key, server)
    if (child) this.show(this.change(shown.node, key, child), shown.full)
  }

  // ---- what the user does

  private localSet(path: Path, node: Node): void {
    const { shown } = this
    const [key, ...rest] = path
    if (key === undefined) return this.replace(node, true)
    const whole = rest.length ? this.shownChild(key) : EMPTY
    if (whole) this.show(this.change(shown.node, key, withPath(whole, rest, node)), shown.full)
  }

  private write(path: Path, data: Overlay): void {
    const before = this.shown
    // What is in the window goes first, as in serverMerge.
    for (const inside of [true, false]) {
      forEachNode(data, (relative, node) => {
        const at = [...path, ...relative]
        if (knowsPath(before, at) === inside) this.localSet(at, node)
      })
    }
  }

  // ack shows what the server has where a write no longer hides it: the location of a set,
  // whole children for an update.
  private ack(path: Path, data: Overlay): void {
    if (this.over(path).node) return
    const { server } = this
    const { node } = server
    if (data.node && (path.length ? knowsPath(server, path) : server.full)) return this.follow(path)
    const keys = new Set(data.node && !path.length ? node.kids.map(([key]) => key) : [])
    forEachNode(data, relative => {
      const at = [...path, ...relative]
      if (at.length && knowsPath(server, at)) keys.add(at[0]!)
    })
    for (const inside of [true, false]) {
      for (const key of keys) if (node.has(key) === inside) this.follow([key])
    }
  }

  private undo(path: Path): void {
    if (this.over(path).node) return
    const { server } = this
    const over = this.over()
    const whole = (server.full ? applied : appliedToChildren)(over, server.node)
    const known = server.full || !!over.node
    const [key] = path
    if (key === undefined || key === '.priority') return this.replace(whole, known)
    const node = this.change(this.shown.node, key, this.completeChild(key, server) ?? EMPTY)
    // All writes below are undone: perhaps there was a leaf before them.
    if (node.empty && whole.value !== null) this.replace(whole, known)
    else this.show(node, known)
  }

  // completeChild is the child with pending writes, or null if too little is known.
  private completeChild(key: string, server: Cache): Node | null {
    const over = this.over([key])
    return over.node ?? (knows(server, key) ? applied(over, server.node.child(key)) : null)
  }

  private shownChild(key: string): Node | null {
    const { shown, server, complete } = this
    if (knows(shown, key)) return shown.node.child(key)
    return this.completeChild(key, complete ? { node: complete, full: true, filtered: false } : server)
  }

  // next is the child next to `entry`, going away from the fixed end of the window.
  private next(entry: Entry): Entry | undefined {
    const { server, complete } = this
    const { index, last } = this.params
    const base = complete ?? (server.full ? server.node : null)
    const over = this.over()
    const all = over.node ?? (base && applied(over, base))
    if (!all) return undefined
    const list = all.ordered(index)
    const at = lowerBound(list, e => compareEntries(index, e, entry) || (last ? 0 : -1))
    return list[last ? at - 1 : at]
  }

  // ---- the window of the query

  private window(node: Node, filters = this.filters): Node {
    if (!filters) return node
    const { params } = this
    let list = node.ordered(params.index).filter(entry => inRange(params, entry))
    if (params.limit) list = params.last ? list.slice(-params.limit) : list.slice(0, params.limit)
    const shown = new Set(list)
    return kept(node, entry => shown.has(entry))
  }

  // edge is the entry of a window that is the first to make room.
  private edge(node: Node): Entry {
    const list = node.ordered(this.params.index)
    return this.params.last ? list[0]! : list.at(-1)!
  }

  // put replaces one child of a window, or the priority, of which a query shows none.
  private put(node: Node, key: string, child: Node, filters = this.filters): Node {
    const { params } = this
    if (key === '.priority') return filters ? node : withPriority(node, child.value)
    this.touched.add(key)
    if (filters && !inRange(params, [key, child])) child = EMPTY
    const next = withChild(node, key, child)
    if (!filters || !params.limit || next.kids.length <= params.limit) return next
    const [last] = this.edge(next)
    this.touched.add(last)
    return withChild(next, last, EMPTY)
  }

  // change is put for what is shown: a child that leaves a full window makes room for the next one.
  private change(node: Node, key: string, child: Node): Node {
    const { limit } = this.params
    if (equals(node.child(key), child)) return node
    const result = this.put(node, key, child)
    if (!limit || node.kids.length < limit || !node.has(key)) return result
    let next = this.next(this.edge(node))
    while (next && (next[0] === key || node.has(next[0]))) next = this.next(next)
    return next ? this.put(result, ...next) : result
  }
}

/** The operation as the view of a child sees it; null if that is not concerned. */
export function forChild(op: Operation, key: string): Operation | null {
  const [front, ...rest] = op.path
  if (front !== undefined) return front === key ? { ...op, path: rest } : null
  const data = overlayAt(op.data, [key])
  // An undone update concerns all views below, as in the official client.
  return isBlank(data) && op.type !== 'undo' ? null : { ...op, data }
}
