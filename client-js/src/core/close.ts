import type { Connection } from './connection.js'
import type { Core } from './core.js'
import { type Answer, errorOf } from './errors.js'
import { everything } from './params.js'

/** What a deleted database answers. */
export const CLOSED: Answer = { s: 'closed', d: 'the database was deleted' }

/**
 * Ends a database for good: it goes offline, and all that waits for the server
 * fails with CLOSED, as does all that is begun later. A function, not a method,
 * so that who never ends a database does not need it.
 */
export function close(core: Core): void {
  const { connection } = core
  connection.goOffline()
  connection.closing.abort()
  refuseAll(connection)
  const listens = [...connection.listens.values()].flatMap(known => [...known.values()])
  const requests = [...connection.pending]
  connection.listens.clear()
  connection.pending.clear()
  for (const subscription of listens) connection.finish(subscription, CLOSED)
  for (const key of ['connected', 'serverTimeOffset']) {
    const path = ['.info', key]
    const which = { matches: () => true }
    core.queue.raise(path, core.infoSync.remove({ path, params: everything }, which, errorOf(CLOSED)))
  }
  for (const { done } of requests) done(CLOSED)
  connection.onSignIn?.(CLOSED)
}

// refuseAll makes the connection answer all that is asked of it from now on,
// also listens that were covered by those that end. No answer comes before the
// call returns.
function refuseAll(connection: Connection): void {
  const soon = (f: () => void) => void setTimeout(f)
  connection.listen = subscription => soon(() => connection.finish(subscription, CLOSED))
  connection.send = (_kind, _action, _body, done) => soon(() => done(CLOSED))
}
