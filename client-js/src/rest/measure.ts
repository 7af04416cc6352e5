import { checked } from '../api/database.js'
import type { DatabaseReference, Query } from '../api/reference.js'
import type { Changes, Writable } from '../api/types.js'
import type { Explanation } from '../core/explanation.js'
import { checkUpdate, checkValue } from '../core/validate.js'
import { type RestStore, restQuery } from './store.js'

async function ask(query: Query, method: string, more: Record<string, string>, body?: unknown) {
  const store = checked(query).db.store as RestStore
  const options = { query: { ...restQuery(query.params), ...more }, body }
  return (await store.request(method, query.path, options)).json()
}

/**
 * The number of children that a query selects, which are not read for it. A query with a
 * limit has none: it is refused.
 */
export const getCount = (query: Query): Promise<number> => ask(query, 'GET', { count: 'true' })

/** What reading a query takes, and whether an index helps. Nothing of the data is told. */
export const explain = (query: Query): Promise<Explanation> => ask(query, 'GET', { explain: 'true' })

/** What `set` would take. Nothing is written. */
export async function explainSet<T>(ref: DatabaseReference<T>, value: Writable<T>): Promise<Explanation> {
  checkValue(value, checked(ref).path)
  return ask(ref, 'PUT', { explain: 'true' }, value)
}

/** What `update` would take. Nothing is written. */
export async function explainUpdate<T>(ref: DatabaseReference<T>, values: Changes<T>): Promise<Explanation> {
  checkUpdate(values, checked(ref).path)
  return ask(ref, 'PATCH', { explain: 'true' }, values)
}
