import { Bound, MAX_KEY, MIN_KEY } from '../core/bound.js'
import { invalid } from '../core/errors.js'
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
  | 'orderByKey'
  | 'orderByPriority'
  | 'orderByValue'
  | 'equalTo'

type Value = number | string | boolean | null

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
  value: Value,
  key?: string
): QueryConstraint {
  if (key !== undefined && !isKey(key)) invalid(`bad key "${key}" in ${type}`)
  if (
    (value && typeof value === 'object') ||
    (!Number.isFinite(value) && !/^(boolean|object|string)$/.test(typeof value))
  )
    invalid(
      `${type} takes a string, a number, a boolean or null, not ${typeof value === 'object' ? 'an object' : String(value)}`
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

export const endAt = (value: Value, key?: string): QueryConstraint => bound('endAt', ['end'], value, key)

export const endBefore = (value: Value, key?: string): QueryConstraint =>
  bound('endBefore', ['end'], value, key)

export const startAt = (value: Value = null, key?: string): QueryConstraint =>
  bound('startAt', ['start'], value, key)

export const startAfter = (value: Value, key?: string): QueryConstraint =>
  bound('startAfter', ['start'], value, key)

export const equalTo = (value: Value, key?: string): QueryConstraint =>
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
