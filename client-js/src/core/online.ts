import type { Connection } from './connection.js'
import type { Answer } from './errors.js'

// What the user wants of a connection. Functions, not methods, so that who wants none of
// it does not need them.

/** Connects at once, unless the database was deleted. */
export function connect(connection: Connection): void {
  if (connection.closing.signal.aborted) return
  connection.wanted = true
  connection.refusal = undefined
  connection.failures = 0
  if (!connection.socket && connection.state !== 'connecting') connection.schedule(0)
}

/** Signs in with another token, or out. `onAnswer` hears what the server says. */
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
