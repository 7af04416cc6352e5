import type { Core } from '../core/core.js'
import { type Answer, errorOf } from '../core/errors.js'
import { hashNode } from '../core/hash.js'
import { type Node, nodeFromJSON } from '../core/node.js'
import { wireQuery } from '../core/params.js'
import { formatPath } from '../core/path.js'
import { connected } from './ask.js'
import { checked } from './database.js'
import type { Query } from './reference.js'
import { type Refreshed, refreshed } from './refreshed.js'
import type { DataSnapshot } from './snapshot.js'

/**
 * Reads once, as `get` does, what an earlier snapshot of the same query has. If it is still
 * the same, the server sends only that. From a server that has no conditional reads it gets
 * the value, and compares it here.
 */
export function refresh<T>(query: Query<T>, have: DataSnapshot<T>): Promise<Refreshed<T>> {
  const core = checked(query).db.store as Core
  const { sync, filtered } = core
  const views = query.params.filter ? filtered : sync
  return refreshed(query, have, known => views.cached(query) ?? readIf(core, query, known))
}

// readIf resolves with what the server has. If it is the given node, that is not sent.
async function readIf(core: Core, query: Query, known: Node): Promise<Node> {
  const { connection, link } = core
  await connected(core)
  const compares = () => connection.features.includes('h')
  const asked = compares()
  const h = asked ? hashNode(known) : undefined
  const body = { p: formatPath(query.path), q: wireQuery(query.params), h }
  // The answer may come over a later connection, from a server that does not compare hashes.
  const [{ s, d, rule }, answered] = await new Promise<[Answer, boolean]>(resolve => {
    link.send('get', 'g', body, answer => resolve([answer, compares()]))
  })
  // The connection does not repeat a request with a hash, since it could be a conditional write.
  if (s === 'disconnect') return readIf(core, query, known)
  if (s !== 'ok') throw errorOf({ s, d, rule }, body.p, 'get')
  if (!asked || !answered) return nodeFromJSON(d)
  const { same, v } = d as { same?: boolean; v?: unknown }
  return same ? known : nodeFromJSON(v)
}
