import { nodeFromJSON } from '../core/node.js'
import { type Path, parsePath } from '../core/path.js'
import { follow } from './follow.js'
import type { Unsubscribe } from './listen.js'
import { DatabaseReference, type Query } from './reference.js'
import { DataSnapshot } from './snapshot.js'

/**
 * Calls `callback` for each place in the view of `query` that is written from now on, with a
 * snapshot of the new value, whose `ref` is the place. The view itself is not sent first. Resolves
 * once the server follows it, with the function that ends it.
 *
 * Writes of this client are among them once the server has them. After a lost connection
 * the whole view comes, as a snapshot of the place of the query, because changes may have been missed. A
 * denial rejects, and a later one goes to `cancel`. Other servers are `UNSUPPORTED`.
 */
export function onChanges(
  query: Query,
  callback: (snapshot: DataSnapshot) => unknown,
  cancel?: (error: Error) => unknown
): Promise<Unsubscribe> {
  const eventOf = (at: Path, value: unknown) => ({
    path: at,
    run: () => void callback(new DataSnapshot(nodeFromJSON(value), new DatabaseReference(query.db, at)))
  })
  return follow(
    query,
    'a',
    'q',
    callback,
    (at, data, merge) =>
      merge
        ? Object.entries(data as object).map(([key, value]) => eventOf([...at, ...parsePath(key)], value))
        : [eventOf(at, data)],
    cancel
  )
}
