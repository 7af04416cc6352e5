import { checked } from '../api/database.js'
import type { Query } from '../api/reference.js'
import { DataSnapshot } from '../api/snapshot.js'
import { nodeFromJSON } from '../core/node.js'
import { type RestStore, restQuery } from './store.js'

/** Reads once. */
export async function get<T>(query: Query<T>): Promise<DataSnapshot<T>> {
  const { path, params, ref } = checked(query)
  const reply = await (query.db.store as RestStore).request('GET', path, { query: restQuery(params) })
  return new DataSnapshot(nodeFromJSON(await reply.json()), ref, params.index)
}
