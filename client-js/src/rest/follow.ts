import { checked } from '../api/database.js'
import type { Unsubscribe } from '../api/listen.js'
import type { Query } from '../api/reference.js'
import { DogwoodError } from '../core/errors.js'
import { guard } from '../core/events.js'
import { checkCallback } from '../core/validate.js'
import { type RestStore, restQuery } from './store.js'
import { messages, pauseAfter } from './stream.js'

/** What asks for an event stream, beside the query. */
interface Asked {
  readonly query?: Record<string, string>
  readonly headers?: Record<string, string>
}

/**
 * Follows what happens in a query from now on by an event stream, which is opened again when it is
 * lost. `take` returns the calls that a message of it makes, and throws if it is the end.
 */
export function follow(
  query: Query,
  callback: unknown,
  asked: (again: boolean) => Asked,
  take: (message: { event: string; data: string }) => (() => unknown)[],
  cancel?: (error: Error) => unknown
): Promise<Unsubscribe> {
  const { db, path, params } = checked(query)
  checkCallback(callback)
  const store = db.store as RestStore
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
      const more = asked(begun)
      const reply = await store.request('GET', path, {
        query: { ...restQuery(params), ...more.query },
        headers: { accept: 'text/event-stream', ...more.headers },
        abort
      })
      return messages(reply)
    }
    const read = async () => {
      for (let failures = 0; !stopped; failures++) {
        try {
          for await (const message of await open()) {
            failures = 0
            begun = true
            resolve(stop)
            for (const call of take(message)) if (!stopped) guard(call)
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
    void read()
  })
}
