import { checked } from '../api/database.js'
import type { Unsubscribe } from '../api/listen.js'
import { DatabaseReference, type Query } from '../api/reference.js'
import { DataSnapshot } from '../api/snapshot.js'
import { DogwoodError } from '../core/errors.js'
import { guard } from '../core/events.js'
import { nodeFromJSON } from '../core/node.js'
import { checkCallback } from '../core/validate.js'
import { type RestStore, restQuery } from './store.js'
import { messages, pauseAfter, valuesOf } from './stream.js'

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
  const { db, path, params } = checked(query)
  checkCallback(callback)
  const store = db.store as RestStore
  const headers = { accept: 'text/event-stream' }
  let abort = new AbortController()
  let begun = false
  let stopped = false
  const stop = () => {
    stopped = true
    abort.abort()
  }
  return new Promise((resolve, reject) => {
    const open = async () => {
      abort = new AbortController()
      const more: Record<string, string> = begun ? {} : { changes: 'true' }
      const reply = await store.request('GET', path, {
        query: { ...restQuery(params), ...more },
        headers,
        abort
      })
      return messages(reply)
    }
    const follow = async () => {
      for (let failures = 0; !stopped; failures++) {
        try {
          for await (const message of await open()) {
            failures = 0
            begun = true
            resolve(stop)
            for (const [at, value] of valuesOf(message))
              if (!stopped)
                guard(() =>
                  callback(new DataSnapshot(nodeFromJSON(value), new DatabaseReference(db, [...path, ...at])))
                )
          }
        } catch (error) {
          // A failure that may be temporary is tried again.
          if (error instanceof DogwoodError && error.code !== 'UNAVAILABLE' && !stopped) {
            stop()
            reject(error)
            if (begun) guard(() => cancel?.(error))
          }
        }
        if (!stopped) await pauseAfter(failures)
      }
    }
    void follow()
  })
}
