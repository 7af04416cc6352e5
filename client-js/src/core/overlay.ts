import { kept, withChild, withPath } from './change.js'
import { type Node, nodeFromJSON } from './node.js'
import { type Path, parsePath } from './path.js'

/**
 * An Overlay is a sparse tree of values to lay over a node. Where it has a
 * `node`, that replaces everything below; nothing lies deeper then.
 */
export interface Overlay {
  node?: Node
  kids: Map<string, Overlay>
}

export const overlay = (node?: Node): Overlay => ({ node, kids: new Map() })

export const isBlank = (o: Overlay): boolean => !o.node && !o.kids.size

/** The children in plain string order, in which merges are applied. */
export function sortedKids<T>(kids: Map<string, T>): [string, T][] {
  return [...kids].sort((a, b) => (a[0] < b[0] ? -1 : 1))
}

/** What lies over the location `path`. Do not change it. */
export function overlayAt(o: Overlay, path: Path): Overlay {
  const [key, ...rest] = path
  if (key === undefined) return o
  if (o.node) return overlay(o.node.at(path))
  const kid = o.kids.get(key)
  return kid ? overlayAt(kid, rest) : overlay()
}

/** Lays `node` over `path`, above all that was there. */
export function cover(o: Overlay, path: Path, node: Node): void {
  const [key, ...rest] = path
  if (key === undefined) {
    o.node = node
    o.kids.clear()
  } else if (o.node) o.node = withPath(o.node, path, node)
  else {
    const kid = o.kids.get(key) ?? overlay()
    o.kids.set(key, kid)
    cover(kid, rest, node)
  }
}

/** Lays JSON values over paths below `path`. */
export function coverAll(o: Overlay, path: Path, values: object): void {
  for (const [key, value] of Object.entries(values))
    cover(o, [...path, ...parsePath(key)], nodeFromJSON(value))
}

/** Takes away what lies at and below `path`; what covers it stays. */
export function uncover(o: Overlay, path: Path): void {
  const [key, ...rest] = path
  if (key === undefined) {
    o.node = undefined
    o.kids.clear()
  } else {
    const kid = o.kids.get(key)
    if (!kid) return
    uncover(kid, rest)
    if (isBlank(kid)) o.kids.delete(key)
  }
}

/**
 * The node with the overlay laid over `path` of it. Priorities come last, and
 * only to what exists.
 */
export function applied(o: Overlay, node: Node, path: Path = []): Node {
  if (o.node) return withPath(node, path, o.node)
  for (const [key, kid] of sortedKids(o.kids)) {
    if (key !== '.priority') node = applied(kid, node, [...path, key])
  }
  const priority = o.kids.get('.priority')?.node
  return priority && !node.at(path).empty ? withPath(node, [...path, '.priority'], priority) : node
}

/** The children of `base` with the overlay applied, and those that it has whole. */
export function appliedToChildren(o: Overlay, base: Node): Node {
  if (o.node) return kept(o.node, () => true)
  let result = kept(base, () => true)
  for (const [key, child] of result.kids) {
    const kid = o.kids.get(key)
    if (kid) result = withChild(result, key, applied(kid, child))
  }
  for (const [key, kid] of sortedKids(o.kids)) {
    if (kid.node) result = withChild(result, key, kid.node)
  }
  return result
}

/** Calls f for each node of the overlay, deepest first, in string order. */
export function forEachNode(o: Overlay, f: (path: Path, node: Node) => void, path: Path = []): void {
  for (const [key, kid] of sortedKids(o.kids)) forEachNode(kid, f, [...path, key])
  if (o.node) f(path, o.node)
}
