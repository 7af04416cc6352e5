import { compareKeys } from './key.js'
import { EMPTY, type Entry, lowerBound, Node, type Order } from './node.js'
import { compareEntries, compareValues, type Index, VALUE } from './order.js'
import type { Path } from './path.js'
import type { Priority } from './scalar.js'

// Nodes are immutable: these functions return changed copies. They are not methods, so that
// a bundle that only reads does not contain them.

/** Replaces the priority. Empty nodes have none. */
export function withPriority(node: Node, priority: Priority): Node {
  if (node.empty || priority === node.priority) return node
  const result = new Node(node.value, priority, node.kids)
  result.orders = node.orders
  return result
}

/** Replaces one child. Under a leaf, a child takes the place of the value. */
export function withChild(node: Node, key: string, child: Node): Node {
  if (key === '.priority') return withPriority(node, child.value)
  const { kids, orders } = node
  const i = lowerBound(kids, entry => compareKeys(entry[0], key))
  const old = kids[i]?.[0] === key ? kids[i] : undefined
  if (child.empty && !old) return node
  const entry: Entry | undefined = child.empty ? undefined : [key, child]
  const changed = spliced(kids, i, old, entry)
  if (!changed.length) return EMPTY
  const result = new Node(null, node.priority, changed)
  if (orders) result.orders = reordered(kids, orders, changed, old, entry)
  return result
}

/** Replaces what is at a path. */
export function withPath(node: Node, path: Path, value: Node): Node {
  const key = path[0]
  if (key === undefined) return value
  if (node.value !== null && value.empty && key !== '.priority') return node
  return withChild(node, key, withPath(node.child(key), path.slice(1), value))
}

/** Only the children that `keep` accepts, without priority. */
export function kept(node: Node, keep: (entry: Entry) => boolean): Node {
  const kids = node.kids.filter(keep)
  return kids.length ? new Node(null, null, kids) : EMPTY
}

/** Reports whether two nodes have the same value and priorities. */
export function equals(a: Node, b: Node): boolean {
  return (
    a === b ||
    (a.value === b.value &&
      a.priority === b.priority &&
      a.kids.length === b.kids.length &&
      a.kids.every(([key, node], i) => b.kids[i]![0] === key && equals(node, b.kids[i]![1])))
  )
}

/** Reports whether a change of a child counts as a move in this order. */
export function isMove(index: Index, before: Node, after: Node): boolean {
  if (index === VALUE) return !equals(before, after)
  return compareValues(index.of(before), index.of(after)) !== 0
}

// reordered brings the known orders of `kids` up to date for `changed`.
function reordered(
  kids: readonly Entry[],
  orders: ReadonlyMap<string, Order>,
  changed: readonly Entry[],
  old?: Entry,
  entry?: Entry
): Map<string, Order> {
  const result = new Map<string, Order>()
  for (const [id, [index, list]] of orders) {
    if (list === kids) {
      if (!entry || entry[1].priority === null) result.set(id, [index, changed])
      continue
    }
    const at = (list: readonly Entry[], e: Entry) => lowerBound(list, x => compareEntries(index, x, e))
    const without = old ? spliced(list, at(list, old), old) : list
    result.set(id, [index, entry ? spliced(without, at(without, entry), undefined, entry) : without])
  }
  return result
}

function spliced(list: readonly Entry[], i: number, old?: Entry, entry?: Entry): readonly Entry[] {
  const copy = list.slice()
  copy.splice(i, old ? 1 : 0, ...(entry ? [entry] : []))
  return copy
}
