import { equals, isMove, kept, withChild, withPath, withPriority } from './change.js'
import { EMPTY, type Entry, lowerBound, type Node } from './node.js'
import { compareEntries, PRIORITY } from './order.js'
import {
  applied,
  appliedToChildren,
  cover,
  forEachNode,
  isBlank,
  type Overlay,
  overlay,
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

/** One step of news for a view, with its path relative to the view. */
export type Operation = Written | Listened

/** Somebody has written `data`, or the server has answered such a write of this client. */
interface Written {
  readonly type: 'set' | 'merge' | 'ack' | 'revert'
  readonly path: Path
  readonly data: Overlay
  /** By the user of this client; else by the server. */
  readonly local?: boolean
  /** Meant for one query. */
  readonly tagged?: boolean
}

/** The server has sent all there is. */
interface Listened {
  readonly type: 'listened'
  readonly path: Path
}

/** A node as far as it is known. */
export interface Cache {
  readonly node: Node
  /** All of the node is known, or, of a filtered one, all that the query shows. */
  readonly full: boolean
  /** Children outside of the query are missing. */
  readonly filtered: boolean
}

interface ChildChange {
  readonly type: EventType
  readonly key: string
  readonly node: Node
  readonly old: Node
}

/** The changes of one operation, at most one for each child. */
type Changes = Map<string, ChildChange>

// Which events come first.
const order = ['child_removed', 'child_added', 'child_moved', 'child_changed'] as const

const knows = (c: Cache, key: string): boolean => (c.full && !c.filtered) || c.node.has(key)

const knowsPath = (c: Cache, path: Path): boolean =>
  path.length ? knows(c, path[0]!) : c.full && !c.filtered

/**
 * A View keeps what one query shows: what the server sent (`server`), and that
 * with the pending writes on it (`shown`). Operations go in, changes come out.
 */
export class View {
  server: Cache
  shown: Cache
  private readonly filters: boolean
  // Of the operation at hand: what it changes, and the whole node on the
  // server, if another view has it.
  private changes: Changes = new Map()
  private complete: Node | null = null

  constructor(
    readonly params: Params,
    private readonly path: Path,
    private readonly writes: Writes,
    server: Node,
    full: boolean
  ) {
    this.filters = !loadsAll(params)
    const shown = writes.complete(path, full ? server : null)
    const node = shown ?? (server.value === null ? appliedToChildren(writes.at(path), server) : EMPTY)
    this.server = { node: server, full, filtered: false }
    this.shown = {
      node: this.window(node),
      full: !!shown,
      filtered: this.filters
    }
  }

  /** What the server is known to have at `path`, or null if that is unknown. */
  known(path: Path): Node | null {
    const { node, full } = this.server
    const whole = !this.filters || (path.length > 0 && node.has(path[0]!))
    return full && whole ? node.at(path) : null
  }

  /** The changes that bring a new listener up to date. */
  initial(): Change[] {
    const { node, full } = this.shown
    const changes: Changes = new Map()
    for (const [key, child] of node.ordered(PRIORITY)) track(changes, 'child_added', key, child)
    return this.events(changes, full)
  }

  /** Applies `op`. `complete` is the whole node on the server, if another view has it. */
  apply(op: Operation, complete: Node | null): Change[] {
    const before = this.shown
    const { server } = this
    const { path } = op
    this.complete = complete
    this.changes = new Map()
    if (op.type === 'ack') this.ack(path, op.data)
    else if (op.type === 'revert') this.revert(path)
    else if (op.type === 'listened') {
      this.server = { ...server, full: server.full || !path.length }
      this.follow(path)
    } else if (op.local) {
      if (op.type === 'set') this.localSet(path, op.data.node!)
      else this.localMerge(path, op.data)
    } else if (op.type === 'merge') this.serverMerge(path, op.data, !!op.tagged || server.filtered)
    else this.serverSet(path, op.data.node!, !!op.tagged || (server.filtered && path.length > 0))
    return this.events(this.changes, this.valueChanged(before))
  }

  private valueChanged(before: Cache): boolean {
    const { node, full } = this.shown
    if (!full) return false
    const noKids = !node.kids.length
    return (
      this.changes.size > 0 ||
      !before.full ||
      (noKids && !equals(node, before.node)) ||
      node.priority !== before.node.priority
    )
  }

  // events puts the changes into the order of their kinds, and each kind into
  // that of the query.
  private events(changes: Changes, value: boolean): Change[] {
    const { index } = this.params
    const list = this.shown.node.ordered(index)
    const sorted = [...changes.values()].sort((a, b) =>
      compareEntries(index, [a.key, a.node], [b.key, b.node])
    )
    const result: Change[] = []
    for (const type of order) {
      for (const { type: own, key, node, old } of sorted) {
        const moved = type === 'child_moved'
        if (own !== (moved ? 'child_changed' : type) || (moved && !isMove(index, old, node))) continue
        const at = lowerBound(list, e => compareEntries(index, e, [key, node]))
        const previous = type === 'child_removed' ? undefined : (list[at - 1]?.[0] ?? null)
        result.push({ type, key, node, previous })
      }
    }
    if (value) result.push({ type: 'value', key: null, node: this.shown.node })
    return result
  }

  private over(path: Path = []): Overlay {
    return this.writes.at([...this.path, ...path])
  }

  private show(node: Node, full: boolean): void {
    this.shown = { node, full, filtered: this.filters }
  }

  // ---- what the server says

  private serverSet(path: Path, node: Node, filter: boolean): void {
    const old = this.server
    const filters = filter && this.filters
    const [key, ...rest] = path
    let next: Node
    if (key === undefined) next = this.window(node, filters)
    else if (filters && !old.filtered) next = this.window(withPath(old.node, path, node))
    else {
      // News of a child that was never loaded is meant for another listener.
      if (rest.length && !knowsPath(old, path)) return
      const child = withPath(old.node.child(key), rest, node)
      next =
        key === '.priority'
          ? this.reprioritize(old.node, child, filters)
          : this.put(old.node, key, child, rest, null, filters)
    }
    this.server = { node: next, full: old.full || key === undefined, filtered: filters }
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
        if (server.node.has(key) !== inside) continue
        if (!inside && !kid.node && !knows(server, key)) continue
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
    if (this.over(path).node) return
    const [key, ...rest] = path
    let node = shown.node
    if (key === undefined) {
      const known = server.full ? server.node : EMPTY
      // Of a filtered node only whole children are known: deep writes outside
      // of them would show fragments.
      const next = server.filtered ? appliedToChildren(this.over(), known) : applied(this.over(), known)
      node = this.replace(shown.node, next)
    } else if (key === '.priority') {
      const next = applied(this.over(path), server.node.at(path))
      node = this.reprioritize(shown.node, next)
    } else {
      let child: Node | null
      if (knows(shown, key)) {
        child = withPath(shown.node.child(key), rest, applied(this.over(path), server.node.at(path)))
      } else child = this.completeChild(key, server)
      if (child) node = this.put(shown.node, key, child, rest)
    }
    this.show(node, shown.full || key === undefined)
  }

  // ---- what the user does

  private localSet(path: Path, node: Node): void {
    const { shown } = this
    const [key, ...rest] = path
    if (key === undefined) return this.show(this.replace(shown.node, node), true)
    if (key === '.priority') return this.show(this.reprioritize(shown.node, node), shown.full)
    let child = node
    if (rest.length) {
      const whole = this.shownChild(key)
      // A priority for nothing: if it exists on the server, that will say so.
      const vain = rest.at(-1) === '.priority' && whole?.at(rest.slice(0, -1)).empty
      child = whole ? (vain ? whole : withPath(whole, rest, node)) : EMPTY
    }
    if (!equals(shown.node.child(key), child)) {
      this.show(this.put(shown.node, key, child, rest), shown.full)
    }
  }

  private localMerge(path: Path, data: Overlay): void {
    const before = this.shown
    for (const inside of [true, false]) {
      forEachNode(data, (relative, node) => {
        const at = [...path, ...relative]
        if (knows(before, at[0]!) === inside) this.localSet(at, node)
      })
    }
  }

  // ack shows what the server has where a write no longer hides it.
  private ack(path: Path, data: Overlay): void {
    if (this.over(path).node) return
    const { node, full, filtered } = this.server
    const known = overlay()
    if (!data.node) {
      forEachNode(data, relative => {
        const at = [...path, ...relative]
        if (knowsPath(this.server, at)) cover(known, relative, node.at(at))
      })
    } else if (path.length ? knowsPath(this.server, path) : full) {
      this.serverSet(path, node.at(path), filtered)
      return
    } else if (!path.length) for (const [key, child] of node.kids) cover(known, [key], child)
    this.serverMerge(path, known, filtered)
  }

  private revert(path: Path): void {
    if (this.over(path).node) return
    const { shown, server } = this
    const [key, ...rest] = path
    let node = shown.node
    if (key === undefined || key === '.priority') {
      const next = server.full
        ? applied(this.over(), server.node)
        : appliedToChildren(this.over(), server.node)
      node = this.replace(node, next)
    } else {
      const child = this.completeChild(key, server) ?? EMPTY
      if (!child.empty || knows(server, key) || node.has(key)) {
        node = this.put(node, key, child, rest)
      }
      if (node.empty && server.full) {
        // All writes below are undone: perhaps there was a leaf before them.
        const whole = applied(this.over(), server.node)
        if (whole.value !== null) node = this.replace(node, whole)
      }
    }
    this.show(node, server.full || !!this.over().node)
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

  // reprioritize sets the priority of the location itself. Queries show none.
  private reprioritize(node: Node, priority: Node, filters = this.filters): Node {
    return filters ? node : withPriority(node, priority.value)
  }

  // replace makes the window show `next` instead of `old`.
  private replace(old: Node, next: Node): Node {
    const { changes } = this
    next = this.window(next)
    for (const [key, child] of old.ordered(PRIORITY))
      if (!next.has(key)) track(changes, 'child_removed', key, child)
    for (const [key, child] of next.ordered(PRIORITY)) {
      const before = old.child(key)
      if (before.empty) track(changes, 'child_added', key, child)
      else if (!equals(before, child)) track(changes, 'child_changed', key, child, before)
    }
    return next
  }

  private window(node: Node, filters = this.filters): Node {
    if (!filters) return node
    const { params } = this
    let list = node.ordered(params.index).filter(entry => inRange(params, entry))
    if (params.limit) list = params.last ? list.slice(-params.limit) : list.slice(0, params.limit)
    const shown = new Set(list)
    return kept(node, entry => shown.has(entry))
  }

  // put changes one child. `path` is the part of it that was affected. Without
  // `changes`, what the server has is changed: then nobody need be told, and
  // nothing more is known to fill the window with.
  private put(
    node: Node,
    key: string,
    child: Node,
    path: Path,
    changes: Changes | null = this.changes,
    filters = this.filters
  ): Node {
    const { params } = this
    if (filters) {
      if (!inRange(params, [key, child])) child = EMPTY
      if (params.limit) {
        if (equals(node.child(key), child)) return node
        if (node.kids.length >= params.limit) return this.putInFull(node, key, child, changes)
      }
    }
    const old = node.child(key)
    if (equals(old.at(path), child.at(path)) && old.empty === child.empty) return node
    if (!child.empty) track(changes, old.empty ? 'child_added' : 'child_changed', key, child, old)
    else if (!old.empty) track(changes, 'child_removed', key, old)
    return withChild(node, key, child)
  }

  // putInFull changes a child of a window that is full: who leaves makes room
  // for the next one, who enters pushes the last one out.
  private putInFull(node: Node, key: string, child: Node, changes: Changes | null): Node {
    const { params } = this
    const order = node.ordered(params.index)
    const edge = params.last ? order[0]! : order.at(-1)!
    // Positive if a is farther out than b.
    const farther = (a: Entry, b: Entry) => compareEntries(params.index, a, b) * (params.last ? -1 : 1)
    const old = node.child(key)
    if (old.empty) {
      if (child.empty || farther(edge, [key, child]) < 0) return node
      track(changes, 'child_removed', edge[0], edge[1])
      track(changes, 'child_added', key, child)
      return withChild(withChild(node, key, child), edge[0], EMPTY)
    }
    let next = changes && this.next(edge)
    while (next && (next[0] === key || node.has(next[0]))) next = this.next(next)
    if (!child.empty && (!next || farther(next, [key, child]) >= 0)) {
      track(changes, 'child_changed', key, child, old)
      return withChild(node, key, child)
    }
    track(changes, 'child_removed', key, old)
    const rest = withChild(node, key, EMPTY)
    if (!next || !inRange(params, next)) return rest
    track(changes, 'child_added', next[0], next[1])
    return withChild(rest, next[0], next[1])
  }
}

// track notes a change of a child, joined with an earlier one in the same operation.
function track(changes: Changes | null, type: EventType, key: string, node: Node, old: Node = EMPTY): void {
  const earlier = changes?.get(key)
  if (earlier) {
    changes!.delete(key)
    if (earlier.type === 'child_removed') {
      type = 'child_changed'
      old = earlier.node
    } else if (type !== 'child_removed') {
      type = earlier.type
      old = earlier.old
    } else if (earlier.type === 'child_added') return
    else node = earlier.old
  }
  changes?.set(key, { type, key, node, old })
}

/** The operation as the view of a child sees it; null if that is not concerned. */
export function forChild(op: Operation, key: string): Operation | null {
  const [front, ...rest] = op.path
  if (front !== undefined) return front === key ? { ...op, path: rest } : null
  if (op.type === 'listened') return op
  if (op.data.node && op.type !== 'set') return op
  const data = overlayAt(op.data, [key])
  if (op.type === 'merge') {
    if (isBlank(data)) return null
    return data.node ? { ...op, type: 'set', data } : { ...op, data }
  }
  return { ...op, data }
}
