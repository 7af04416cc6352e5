import { compareKeys } from './key.js'
import { compareEntries, type Index, KEY, PRIORITY } from './order.js'
import type { Path } from './path.js'
import type { Priority, Scalar } from './scalar.js'

export type Entry = readonly [key: string, node: Node]
export type Order = readonly [index: Index, entries: readonly Entry[]]

/**
 * A Node is an immutable piece of the tree: a leaf with a value, an inner node
 * with children, or nothing (EMPTY). Leaves and inner nodes may have a priority,
 * which also counts as a child named `.priority`.
 */
export class Node {
  // The children in the orders that were used so far. withChild keeps them up to date, so
  // that a change of one child does not sort a long list again.
  orders?: Map<string, Order>

  /** `kids` is in key order and holds no empty nodes. */
  constructor(
    readonly value: Scalar | null,
    readonly priority: Priority,
    readonly kids: readonly Entry[]
  ) {}

  get empty(): boolean {
    return this.value === null && !this.kids.length
  }

  has(key: string): boolean {
    return key !== '.priority' && !this.child(key).empty
  }

  child(key: string): Node {
    if (key === '.priority') return leaf(this.priority)
    const i = lowerBound(this.kids, entry => compareKeys(entry[0], key))
    const entry = this.kids[i]
    return entry && entry[0] === key ? entry[1] : EMPTY
  }

  at(path: Path): Node {
    let node: Node = this
    for (const key of path) node = node.child(key)
    return node
  }

  /** The children in the order of `index`. */
  ordered(index: Index): readonly Entry[] {
    if (index === KEY) return this.kids
    this.orders ??= new Map()
    const known = this.orders.get(index.id)
    if (known) return known[1]
    const natural = index === PRIORITY && this.kids.every(entry => entry[1].priority === null)
    const list = natural ? this.kids : this.kids.slice().sort((a, b) => compareEntries(index, a, b))
    this.orders.set(index.id, [index, list])
    return list
  }

  /** The JSON value; in export form with priorities and without arrays. */
  toJSON(exported?: boolean): unknown {
    const { value, priority } = this
    if (value !== null) {
      return exported && priority !== null ? { '.value': value, '.priority': priority } : value
    }
    if (this.empty) return null
    const members: [string, unknown][] = []
    let array = !exported
    let highest = 0
    for (const [key, node] of this.ordered(PRIORITY)) {
      members.push([key, node.toJSON(exported)])
      if (arrayKey.test(key)) highest = Math.max(highest, Number(key))
      else array = false
    }
    if (exported && priority !== null) members.push(['.priority', priority])
    const object = Object.fromEntries(members) // keeps a key named __proto__ as an ordinary member
    return array && highest < 2 * this.kids.length ? Object.assign([], object) : object
  }
}

export const EMPTY = new Node(null, null, [])

const arrayKey = /^(0|[1-9]\d*)$/

export const leaf = (value: Scalar | null, priority: Priority = null): Node =>
  value === null ? EMPTY : new Node(value, priority, [])

/** The position of the first entry for which `compare` is not negative. */
export function lowerBound(list: readonly Entry[], compare: (entry: Entry) => number): number {
  let low = 0
  let high = list.length
  while (low < high) {
    const mid = (low + high) >> 1
    if (compare(list[mid]!) < 0) low = mid + 1
    else high = mid
  }
  return low
}

/** Reads plain or export form JSON. `priority` holds unless the JSON has one. */
export function nodeFromJSON(json: unknown, priority: Priority = null): Node {
  if (json === null || json === undefined) return EMPTY
  let value = json as Record<string, unknown>
  if (typeof value === 'object') {
    if ('.priority' in value) priority = value['.priority'] as Priority
    value = (value['.value'] ?? value) as typeof value
  }
  if (typeof value !== 'object' || '.sv' in value) return leaf(value as unknown as Scalar, priority)
  const kids: Entry[] = []
  for (const key of Object.keys(value)) {
    if (key[0] === '.') continue
    const child = nodeFromJSON(value[key])
    if (!child.empty) kids.push([key, child])
  }
  kids.sort((a, b) => compareKeys(a[0], b[0]))
  return kids.length ? new Node(null, priority, kids) : EMPTY
}
