import type { Connection } from './connection.js'
import type { Answer } from './errors.js'

// Going online and signing in. Functions, not methods, so that a bundle that uses neither
// does not contain them.

/** Connects at once, unless the database was deleted. */
export function connect(connection: Connection): void {
  if (connection.closing.signal.aborted) return
  connection.wanted = true
  connection.refusal = connection.refused = undefined
  connection.failures = connection.refusals = 0
  if (!connection.socket && connection.state !== 'connecting') connection.schedule(0)
}

/** Signs in with another token, or out. `onAnswer` gets the answer of the server. */
export function signIn(
  connection: Connection,
  token: string | null,
  onAnswer?: (answer: Answer) => void
): void {
  const { refused, refusal, state } = connection
  const connected = state === 'connected' && !connection.leaving
  connection.token = token
  connection.given = !connected
  connection.onSignIn?.({ s: 'replaced' })
  const another = refused && refusal === refused.answer // what was in the way was a token
  connection.onSignIn = refusal && !another ? undefined : onAnswer
  if (refusal && !another) return void setTimeout(() => onAnswer?.(refusal))
  connection.refusal = connection.refused = undefined
  connection.refusals = 0
  if (connected) {
    if (token) connection.authenticate()
    else {
      connection.request('unauth', {})
      connection.signing = false
      connection.sendAll()
    }
  } else {
    if (state === 'refused') connection.wanted = true
    if (token || state === 'refused') connection.hurry()
  }
}
