import type { Core } from './core.js'
import { type Answer, errorOf } from './errors.js'
import { everything } from './params.js'

/** The answer to requests of a deleted database. */
export const CLOSED: Answer = { s: 'closed', d: 'the database was deleted' }

/**
 * Ends a database for good: it goes offline, and all pending and later requests fail with
 * CLOSED. A function, not a method, so that a bundle that never ends a database does not
 * contain it.
 */
export function close(core: Core): void {
  const { connection } = core
  connection.goOffline()
  connection.closing.abort()
  connection.refuse(CLOSED)
  for (const key of ['connected', 'serverTimeOffset']) {
    const path = ['.info', key]
    const which = { matches: () => true }
    core.queue.raise(path, core.infoSync.remove({ path, params: everything }, which, errorOf(CLOSED)))
  }
}
