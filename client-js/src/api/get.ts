import type { Core } from '../core/core.js'
import { type Answer, errorOf } from '../core/errors.js'
import { nodeFromJSON } from '../core/node.js'
import { loadsAll, wireQuery } from '../core/params.js'
import { formatPath } from '../core/path.js'
import { checked } from './database.js'
import type { Query } from './reference.js'
import { DataSnapshot } from './snapshot.js'

/** Reads once: from what listeners have, else from the server. */
export async function get<T>(query: Query<T>): Promise<DataSnapshot<T>> {
  const { path, params, ref } = checked(query)
  const { sync: all, filtered, queue, link } = query.db.store as Core
  const sync = params.filter ? filtered : all
  let node = sync.cached(query)
  if (!node) {
    const answer = await new Promise<Answer>(done => {
      link.send('get', 'g', { p: formatPath(path), q: wireQuery(params) }, done)
    })
    if (answer.s !== 'ok') throw errorOf(answer, formatPath(path), 'get')
    node = nodeFromJSON(answer.d)
    // The answer also serves listeners that wait for the same data.
    const tag = sync.tagOf(query)
    if (tag || loadsAll(params)) queue.raise(path, sync.set(path, node, tag))
  }
  return new DataSnapshot(node, ref, params.index)
}
