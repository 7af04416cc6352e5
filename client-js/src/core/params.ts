import type { Bound } from './bound.js'
import type { Lacks } from './lacking.js'
import type { Entry } from './node.js'
import { type Index, PRIORITY } from './order.js'

/** What a query shows of its location, and in which order. */
export interface Params {
  readonly index: Index
  readonly ordered?: boolean // an orderBy was given
  readonly start?: Bound
  readonly end?: Bound
  readonly limit?: number
  readonly last?: boolean // the limit counts from the end
  // Of the children in the range, as it is sent. JSON leaves `lacks` out.
  readonly filter?: { w: string; wm?: number; lacks: Lacks }
}

export const everything: Params = { index: PRIORITY }

/** Reports whether the query shows all children, whatever their order. */
export const loadsAll = (p: Params): boolean => !(p.start || p.end || p.limit || p.filter)

/** Reports whether a child is between the bounds. */
export const inRange = ({ start, end, index }: Params, entry: Entry): boolean =>
  (!start || start.contains(index, entry)) && (!end || end.contains(index, entry))

/** The query object of a listen (protocol §5.2). */
export function wireQuery({ start, end, limit, last, index, filter }: Params): Record<string, unknown> {
  return {
    ...start?.wire,
    ...end?.wire,
    ...(limit && { l: limit, vf: last ? 'r' : 'l' }),
    ...(index !== PRIORITY && { i: index.paths ?? index.id }),
    ...filter
  }
}

/** Equal for equal queries; "default" for the plain location. */
export function queryId(wire: object): string {
  const id = JSON.stringify(wire, Object.keys(wire).sort())
  return id === '{}' ? 'default' : id
}
