import { Bound } from '../core/bound.js'
import { invalid } from '../core/errors.js'
import { KEY } from '../core/order.js'
import { checked } from './database.js'
import { Query } from './reference.js'

/** What a page says of one child. */
export interface ChildInfo {
  readonly key: string
  readonly type: 'object' | 'string' | 'number' | 'boolean'
  /** Of a long string its beginning; absent for an object. */
  readonly value?: string | number | boolean
  /** The length of the whole string, if `value` is only its beginning. */
  readonly bytes?: number
  /** How many children an object has, if they are counted. */
  readonly size?: number
  readonly priority?: string | number
}

/** A page describes children without reading what lies below them. */
export interface Page {
  /** Of the state that was read. */
  readonly revision: number
  /** The children of the location; absent if it may be read only through a query. */
  readonly count?: number
  readonly children: readonly ChildInfo[]
  /** The query has more children beyond its limit; absent where `count` is. */
  readonly more?: boolean
}

/** How `getPage` and `pages` go through a query. */
export interface PageOptions {
  /** From the end of the query to its start. */
  readonly descending?: boolean
}

const types: Record<string, ChildInfo['type']> = { o: 'object', s: 'string', n: 'number', b: 'boolean' }

type Described = {
  k: string
  t: string
  v?: string | number | boolean
  b?: number
  n?: number
  p?: string | number
}
type Answer = { revision: number; count?: number; children: Described[]; more?: boolean }

/** The page of an answer, which has short names. */
export const pageOf = ({ children, ...rest }: Answer): Page => ({
  ...rest,
  children: children.map(({ k, t, v, b, n, p }) => ({
    key: k,
    type: types[t]!,
    ...(v !== undefined && { value: v }),
    ...(b !== undefined && { bytes: b }),
    ...(n !== undefined && { size: n }),
    ...(p !== undefined && { priority: p })
  }))
})

const MOST = 1000

/** The query as that of a page, whose order is that of keys unless it says another. */
export function paged(query: Query): Query {
  const { db, path, params } = checked(query)
  const { ordered, limit = 0 } = params
  if (limit > MOST) invalid(`a page has at most ${MOST} children`)
  return new Query(db, path, ordered ? params : { ...params, index: KEY, ordered: true })
}

/** The pages of a query one after the other, each read by `read`. */
export async function* allPages(
  query: Query,
  descending: boolean | undefined,
  read: (query: Query) => Promise<Page>
): AsyncGenerator<Page, void, void> {
  const { db, path, params } = paged(query)
  if (params.index !== KEY) invalid('pages go by key; getPage has the first one of other orders')
  if (params.last) invalid('pages has limitToFirst, with descending for those from the end on')
  let next = { ...params, limit: params.limit ?? 200, last: descending }
  for (;;) {
    const page = await read(new Query(db, path, next))
    yield page
    const last = page.children.at(-1)?.key
    if (page.children.length < next.limit || page.more === false || last === undefined) return
    const side = descending ? 'end' : 'start'
    next = { ...next, [side]: new Bound(side, last, undefined, true) }
  }
}
