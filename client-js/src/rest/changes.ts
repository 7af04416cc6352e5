import type { Unsubscribe } from '../api/listen.js'
import { DatabaseReference, type Query } from '../api/reference.js'
import { DataSnapshot } from '../api/snapshot.js'
import { nodeFromJSON } from '../core/node.js'
import { follow } from './follow.js'
import { valuesOf } from './stream.js'

/**
 * Calls `callback` for each place in the view of `query` that is written from now on, with a
 * snapshot of the new value, whose `ref` is the place. The view itself is not sent first. Resolves
 * once the server follows it, with the function that ends it. It reads an event stream. When that
 * is lost and opened again, the whole view comes, as a snapshot of the place of the query.
 */
export function onChanges(
  query: Query,
  callback: (snapshot: DataSnapshot) => unknown,
  cancel?: (error: Error) => unknown
): Promise<Unsubscribe> {
  return follow(
    query,
    callback,
    again => (again ? {} : { query: { changes: 'true' } }),
    message =>
      valuesOf(message).map(
        ([at, value]) =>
          () =>
            callback(
              new DataSnapshot(nodeFromJSON(value), new DatabaseReference(query.db, [...query.path, ...at]))
            )
      ),
    cancel
  )
}
