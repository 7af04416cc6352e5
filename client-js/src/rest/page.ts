import { allPages, type Page, type PageOptions, paged, pageOf } from '../api/described.js'
import type { Query } from '../api/reference.js'
import { type RestStore, restQuery } from './store.js'

/**
 * Describes the children that a query selects: 200 without a limit, and at most 1000. Without
 * an order they are in that of their keys. What lies below them is not read.
 */
export async function getPage(query: Query, options?: PageOptions): Promise<Page> {
  const { db, path, params } = paged(query)
  const more: Record<string, string> = options?.descending ? { descending: 'true' } : {}
  const parameters = { ...restQuery(params), children: 'true', format: '', ...more }
  return pageOf(await (await (db.store as RestStore).request('GET', path, { query: parameters })).json())
}

/** The pages of a query by key, each with as many children as its limit says; from the end on if `descending`. */
export const pages = (query: Query, options?: PageOptions): AsyncGenerator<Page, void, void> =>
  allPages(query, options?.descending, query => getPage(query, options))
