import type { Core } from '../core/core.js'
import { wireQuery } from '../core/params.js'
import { formatPath } from '../core/path.js'
import { ask } from './ask.js'
import { allPages, type Page, type PageOptions, paged, pageOf } from './described.js'
import type { Query } from './reference.js'

/**
 * Describes the children that a query selects: 200 without a limit, and at most 1000. Without
 * an order they are in that of their keys. What lies below them is not read. A server that has
 * no pages is `UNSUPPORTED`.
 */
export async function getPage(query: Query, options?: PageOptions): Promise<Page> {
  const { db, path, params } = paged(query)
  const body = { p: formatPath(path), q: wireQuery(params), desc: options?.descending ? 1 : undefined }
  return pageOf((await ask(db.store as Core, 'l', 'ls', body)) as Parameters<typeof pageOf>[0])
}

/** The pages of a query by key, each with as many children as its limit says; from the end on if `descending`. */
export const pages = (query: Query, options?: PageOptions): AsyncGenerator<Page, void, void> =>
  allPages(query, options?.descending, query => getPage(query, options))
