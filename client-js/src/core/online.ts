import type { Connection } from './connection.js'
import type { Answer } from './errors.js'

// Going online and signing in. Functions, not methods, so that a bundle that uses neither
// does not contain them.

/** Connects at once, unless the database was deleted. */
export function connect(connection: Connection): void {
  if (connection.closing.signal.aborted) return
  connection.wanted = true
  connection.refusal = undefined
  connection.failures = 0
  if (!connection.socket && connection.state !== 'connecting') connection.schedule(0)
}

/** Signs in with another token, or out. `onAnswer` gets the answer of the server. */
export function signIn(
  connection: Connection,
  token: string | null,
  onAnswer?: (answer: Answer) => void
): void {
  const connected = connection.state === 'connected'
  connection.token = token
  connection.given = !connected
  connection.onSignIn?.({ s: 'replaced' })
  const { refusal } = connection
  connection.onSignIn = refusal ? undefined : onAnswer
  if (refusal) return void setTimeout(() => onAnswer?.(refusal))
  if (connected) {
    if (token) connection.authenticate()
    else connection.request('unauth', {})
  } else if (token) connection.hurry()
}
