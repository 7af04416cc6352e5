import { checked } from '../api/database.js'
import { child, type DatabaseReference } from '../api/reference.js'
import { DataSnapshot, type IteratedDataSnapshot } from '../api/snapshot.js'
import type { Children } from '../api/types.js'
import { type Node, nodeFromJSON } from '../core/node.js'
import type { RestStore } from './store.js'

/**
 * Those children of a location that the client may read, by key, where it may not read the
 * location as a whole. They are read page by page: `for await (const room of readable(rooms))`.
 * To follow them, keep an index by declared data. Other servers are `UNSUPPORTED`.
 */
export async function* readable<T>(
  ref: DatabaseReference<T>
): AsyncGenerator<IteratedDataSnapshot<Children<T>>, void, void> {
  for await (const page of listing(ref, {}))
    for (const [key, node] of page.kids)
      yield new DataSnapshot(node, child(ref as DatabaseReference, key)) as IteratedDataSnapshot<Children<T>>
}

/** The keys of those children that the client may read. */
export async function* readableKeys(ref: DatabaseReference): AsyncGenerator<string, void, void> {
  for await (const page of listing(ref, { shallow: 'true', format: '' }))
    for (const [key] of page.kids) yield key
}

async function* listing(ref: DatabaseReference, more: Record<string, string>): AsyncGenerator<Node> {
  const { db, path } = checked(ref)
  for (let next: string | null = ''; next !== null; ) {
    const query: Record<string, string> = { readable: 'true', ...more, ...(next && { next }) }
    const reply = await (db.store as RestStore).request('GET', path, { query })
    next = reply.head.headers.get('x-dogwood-next')
    yield nodeFromJSON(await reply.json())
  }
}
