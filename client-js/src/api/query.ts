import type { QueryConstraint } from './constraints.js'
import { checked } from './database.js'
import { Query } from './reference.js'
import type { At, Children, UnknownPath } from './types.js'

/** Those of the paths that the children of a T do not have. */
type Lacking<T, P extends string> = P extends string
  ? [At<Children<T>, P>] extends [never]
    ? P
    : never
  : never

/** The constraint itself, if the children of a T have what it orders by. */
export type ConstraintOf<T, C> =
  C extends QueryConstraint<infer P>
    ? [Lacking<T, P>] extends [never]
      ? C
      : QueryConstraint<UnknownPath<Lacking<T, P>>>
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
