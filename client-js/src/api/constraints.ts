import { Bound, MAX_KEY, MIN_KEY } from '../core/bound.js'
import { invalid } from '../core/errors.js'
import { lacksOf } from '../core/lacking.js'
import { childrenIndex } from '../core/list.js'
import { childIndex, type Index, KEY, PRIORITY, VALUE } from '../core/order.js'
import type { Params } from '../core/params.js'
import { checkPath, isKey } from '../core/validate.js'

export type QueryConstraintType =
  | 'endAt'
  | 'endBefore'
  | 'startAt'
  | 'startAfter'
  | 'limitToFirst'
  | 'limitToLast'
  | 'orderByChild'
  | 'orderByChildren'
  | 'orderByKey'
  | 'orderByPriority'
  | 'orderByValue'
  | 'equalTo'
  | 'where'

type Value = number | string | boolean | null

/** Of a bound: a value, or with `orderByChildren` a list of values for all or the first of its paths. */
type Values = Value | readonly Value[]

/** One step of a query; see `query`. `Path` is what it orders by, if that is a child. */
export class QueryConstraint<Path extends string = any> {
  declare readonly path?: Path

  /** @internal */
  constructor(
    readonly type: QueryConstraintType,
    /** @internal */
    readonly apply: (params: Params) => Params
  ) {}
}

function bound(
  type: QueryConstraintType,
  sides: readonly ('start' | 'end')[],
  value: Values,
  key?: string
): QueryConstraint {
  if (key !== undefined && !isKey(key)) invalid(`bad key "${key}" in ${type}`)
  for (const each of [value].flat())
    if (each !== null && !Number.isFinite(each) && !/^(boolean|string)$/.test(typeof each))
      invalid(
        `${type} takes a string, a number, a boolean or null, not ${typeof each === 'object' ? 'an object' : String(each)}`
      )
  return new QueryConstraint(type, params => {
    const open = type === 'startAfter' || type === 'endBefore'
    // Without a key, all children of the value itself are left out.
    const past = open && !key && params.index !== KEY ? (type === 'startAfter' ? MAX_KEY : MIN_KEY) : key
    for (const side of sides) {
      if (params[side]) invalid(`${type}: ${side} is already set`)
      const place = new Bound(side, value, past, open)
      place.check(params.index)
      params = { ...params, [side]: place }
    }
    return params
  })
}

function limit(type: QueryConstraintType, limit: number): QueryConstraint {
  if (!Number.isInteger(limit) || limit < 1) invalid(`${type} needs a positive integer`)
  return new QueryConstraint(type, params => {
    if (params.limit) invalid(`${type}: limit is already set`)
    return { ...params, limit, last: type === 'limitToLast' }
  })
}

function order(type: QueryConstraintType, index: Index): QueryConstraint {
  return new QueryConstraint(type, params => {
    const { start, end, ordered } = params
    if (ordered) invalid(`${type}: order is already set`)
    start?.check(index)
    end?.check(index)
    return { ...params, index, ordered: true }
  })
}

export const endAt = (value: Values, key?: string): QueryConstraint => bound('endAt', ['end'], value, key)

export const endBefore = (value: Values, key?: string): QueryConstraint =>
  bound('endBefore', ['end'], value, key)

export const startAt = (value: Values = null, key?: string): QueryConstraint =>
  bound('startAt', ['start'], value, key)

export const startAfter = (value: Values, key?: string): QueryConstraint =>
  bound('startAfter', ['start'], value, key)

export const equalTo = (value: Values, key?: string): QueryConstraint =>
  bound('equalTo', ['start', 'end'], value, key)

export const limitToFirst = (count: number): QueryConstraint => limit('limitToFirst', count)

export const limitToLast = (count: number): QueryConstraint => limit('limitToLast', count)

export const orderByKey = (): QueryConstraint => order('orderByKey', KEY)

export const orderByPriority = (): QueryConstraint => order('orderByPriority', PRIORITY)

export const orderByValue = (): QueryConstraint => order('orderByValue', VALUE)

/** Orders children by what is at `path` in each. */
export function orderByChild<P extends string>(path: P): QueryConstraint<P> {
  const keys = checkPath(path, ['x']).slice(1)
  if (!keys.length) invalid('orderByChild needs a path')
  return order('orderByChild', childIndex(keys))
}

/**
 * Orders children by what is at several paths in each: by the first, then by the second, and so on.
 * There are 1 to 4. The data document of the database should declare an index for them. Bounds,
 * which come behind it, are lists of values then: `startAt(['ann', 5])`. A list that is shorter than the paths is a prefix:
 * `equalTo(['ann'])` leaves all children with that first value, in the order of the others.
 */
export function orderByChildren<P extends string>(...paths: readonly [P, ...P[]]): QueryConstraint<P> {
  const keys = paths.map(path => checkPath(path, ['x']).slice(1))
  if (!keys.length || keys.length > 4 || !keys.every(path => path.length))
    invalid('orderByChildren needs 1 to 4 paths')
  const index = childrenIndex(keys)
  if (new Set(index.paths).size < keys.length) invalid('orderByChildren has a path twice')
  return order('orderByChildren', index)
}

/**
 * Keeps those children that make an expression of the rules language true, in which `data` is the
 * child and `key` its key: `where("data.child('type').val() == 'public'")`. The server decides
 * what matches, so a write of this client is in a view with a filter once the server has it.
 * One read looks at 10,000 children, or at as many as `maxVisited` says, up to 100,000.
 */
export function where(expression: string, maxVisited?: number): QueryConstraint {
  if (!expression || typeof expression !== 'string') invalid('where needs an expression')
  if (maxVisited !== undefined && !(Number.isInteger(maxVisited) && maxVisited > 0 && maxVisited <= 100_000))
    invalid('maxVisited is an integer from 1 to 100000')
  return new QueryConstraint('where', params => {
    if (params.filter) invalid('where: there is a filter already; join them by &&')
    return { ...params, filter: { w: expression, wm: maxVisited, lacks: lacksOf('q') } }
  })
}
