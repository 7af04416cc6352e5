import { compareKeys } from './key.js'
import type { Path } from './path.js'
import type { Priority, Scalar } from './scalar.js'

/** The parts of a node that an order compares. Nodes sort their children, so orders lie below them. */
export interface Sorted {
  readonly value: Scalar | null
  readonly priority: Priority
  readonly empty: boolean
  at(path: Path): Sorted
}

/** What an index sorts by: a scalar, null for nothing, a node with children, or a list of these. */
export type Sortable = Scalar | Sorted | null | SortableList

/** The values of an order by several children, which knows how to compare itself (list.ts). */
export interface SortableList extends ReadonlyArray<Sortable> {
  compare?(other: SortableList): number
}

/** An order of siblings. `id` is how queries name it on the wire. */
export interface Index {
  readonly id: string
  readonly paths?: readonly string[] // of an order by several children, which has lists of values
  check?(value: unknown, key?: string): void // of these orders: throws if it is no bound of them
  of(node: Sorted): Sortable
}

type Keyed = readonly [key: string, node: Sorted]

const ranks: Record<string, number> = { boolean: 1, number: 2, string: 3, object: 4 }

const rank = (value: Sortable): number => (value === null ? 0 : ranks[typeof value]!)

/**
 * Orders values: null, false, true, numbers, strings by UTF-16 code unit,
 * objects. Any two objects are equal, but for a list in front.
 */
export function compareValues(a: Sortable, b: Sortable): number {
  const order = rank(a) - rank(b)
  if (order || rank(a) > 3) return order || (a as SortableList).compare?.(b as SortableList) || 0
  return a! < b! ? -1 : a! > b! ? 1 : 0
}

/** Orders children by what `index` sorts by, ties by key. */
export function compareEntries(index: Index, a: Keyed, b: Keyed): number {
  return compareValues(index.of(a[1]), index.of(b[1])) || compareKeys(a[0], b[0])
}

export const sortable = (node: Sorted): Sortable => node.value ?? (node.empty ? null : node)

export const KEY: Index = { id: '.key', of: () => null }
export const VALUE: Index = { id: '.value', of: sortable }
export const PRIORITY: Index = { id: '.priority', of: node => node.priority }

/** The order by the value at `path` below each child. */
export const childIndex = (path: Path): Index => ({
  id: path.join('/'),
  of: node => sortable(node.at(path))
})
