import type { QueryConstraint } from './constraints.js'
import { Query } from './reference.js'

/** A query with more constraints: an order, bounds, a limit. */
export function query<T>(query: Query<T>, ...constraints: QueryConstraint[]): Query<T> {
  const params = constraints.reduce((params, constraint) => constraint.apply(params), query.params)
  return new Query(query.db, query.path, params)
}
