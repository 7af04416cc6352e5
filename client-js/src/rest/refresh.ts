import { checked } from '../api/database.js'
import type { Query } from '../api/reference.js'
import { type Refreshed, refreshed } from '../api/refreshed.js'
import type { DataSnapshot } from '../api/snapshot.js'
import { hashNode } from '../core/hash.js'
import { nodeFromJSON } from '../core/node.js'
import { type RestStore, restQuery } from './store.js'

/**
 * Reads once, as `get` does, what an earlier snapshot of the same query has. If it is still
 * the same, the server sends only that.
 */
export function refresh<T>(query: Query<T>, have: DataSnapshot<T>): Promise<Refreshed<T>> {
  const { db, path, params } = checked(query)
  return refreshed(query, have, async known => {
    const headers = { 'if-none-match': `"${hashNode(known) || 'null_etag'}"` }
    const options = { query: restQuery(params), headers }
    const reply = await (db.store as RestStore).request('GET', path, options)
    return reply.head.status === 304 ? known : nodeFromJSON(await reply.json())
  })
}
