import type { QueryConstraint } from './constraints.js'
import { checked } from './database.js'
import { Query } from './reference.js'
import type { At, Children, UnknownPath } from './types.js'

/** The constraint itself, if the children of a T have what it orders by. */
export type ConstraintOf<T, C> =
  C extends QueryConstraint<infer P>
    ? [At<Children<T>, P>] extends [never]
      ? QueryConstraint<UnknownPath<P>>
      : C
    : C

/** A query with more constraints: an order, bounds, a limit. */
export function query<T, C extends QueryConstraint[]>(
  query: Query<T>,
  ...constraints: { [I in keyof C]: ConstraintOf<T, C[I]> }
): Query<T>
export function query(query: Query, ...constraints: QueryConstraint[]): Query {
  const params = constraints.reduce((params, constraint) => constraint.apply(params), checked(query).params)
  return new Query(query.db, query.path, params)
}
