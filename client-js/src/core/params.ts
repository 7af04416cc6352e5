import { compareKeys, MAX_KEY, MIN_KEY } from './key.js'
import type { Entry, Scalar } from './node.js'
import { compareValues, type Index, KEY, PRIORITY } from './order.js'

/** One end of a query's range. An open end does not contain its own position. */
export interface Bound {
  readonly value: Scalar | null
  readonly key?: string
  readonly open?: boolean
}

/** What a query shows of its location, and in which order. */
export interface Params {
  readonly index: Index
  readonly ordered?: boolean // an orderBy was given
  readonly start?: Bound
  readonly end?: Bound
  readonly limit?: number
  readonly last?: boolean // the limit counts from the end
}

export const everything: Params = { index: PRIORITY }

/** Reports whether the query shows all children, whatever their order. */
export const loadsAll = (p: Params): boolean => !(p.start || p.end || p.limit)

export function inRange(p: Params, entry: Entry): boolean {
  const { start, end } = p
  const from = start ? against(p.index, entry, start, MIN_KEY) : 1
  const to = end ? against(p.index, entry, end, MAX_KEY) : -1
  return (start?.open ? from > 0 : from >= 0) && (end?.open ? to < 0 : to <= 0)
}

// against compares a child with a bound; `key` completes a bound without key.
function against(index: Index, entry: Entry, bound: Bound, key: string): number {
  if (index === KEY) return compareKeys(entry[0], bound.value as string)
  return compareValues(index.of(entry[1]), bound.value) || compareKeys(entry[0], bound.key ?? key)
}

/** The query object of the wire protocol (§5.2). */
export function wireQuery(p: Params): Record<string, unknown> {
  const { start, end, limit, index } = p
  return {
    ...(start && { sp: start.value, ...(start.key !== undefined && { sn: start.key }), sin: !start.open }),
    ...(end && { ep: end.value, ...(end.key !== undefined && { en: end.key }), ein: !end.open }),
    ...(limit && { l: limit, vf: p.last ? 'r' : 'l' }),
    ...(index !== PRIORITY && { i: index.id })
  }
}

/** Equal for equal queries; "default" for the plain location. */
export function queryId(wire: object): string {
  const id = JSON.stringify(wire, Object.keys(wire).sort())
  return id === '{}' ? 'default' : id
}
