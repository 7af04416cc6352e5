import type { Core } from '../core/core.js'
import { wireQuery } from '../core/params.js'
import { formatPath } from '../core/path.js'
import { ask } from './ask.js'
import { checked } from './database.js'
import type { Query } from './reference.js'

/**
 * The number of children that a query selects, which are not read for it. A query with a
 * limit has none: it is refused. A server that does not count is `UNSUPPORTED`.
 */
export async function getCount(query: Query): Promise<number> {
  const { db, path, params } = checked(query)
  const body = { p: formatPath(path), q: wireQuery(params) }
  const { n } = (await ask(db.store as Core, 'n', 'cn', body)) as { n: number }
  return n
}
