import type { Query } from '../api/reference.js'
import { DataSnapshot } from '../api/snapshot.js'
import { nodeFromJSON } from '../core/node.js'
import { bodyOf, type RestStore, restQuery } from './store.js'

/** Reads once. */
export async function get<T>(query: Query<T>): Promise<DataSnapshot<T>> {
  const { path, params, ref } = query
  const response = await (query.db.store as RestStore).request('GET', path, { query: restQuery(params) })
  return new DataSnapshot(nodeFromJSON(await bodyOf(response)), ref, params.index)
}
