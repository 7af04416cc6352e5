import { close } from '../core/close.js'
import { Core } from '../core/core.js'
import { type Answer, DogwoodError, invalid } from '../core/errors.js'
import { setLogger } from '../core/log.js'
import { connect, signIn } from '../core/online.js'
import type { SocketClass } from '../core/socket.js'
import type { ConnectionState, TokenProvider } from '../core/target.js'
import { followAuth } from './auth.js'
import {
  type AppLike,
  type Database,
  type DatabaseOptions,
  forget,
  open,
  providerOf,
  storeOf
} from './database.js'

export type { ConnectionState, SocketClass, TokenProvider }

export interface EmulatorMockTokenOptions {
  sub?: string
  user_id?: string
  [claim: string]: unknown
}

const TOKEN_TIME = 15_000 // for a provider to answer

const coreOf = (db: Database): Core => storeOf(db) as Core

/**
 * The database of an app, or of options, or at a URL. The same app, object or URL
 * gives the same instance; no argument, the one that was made last. Nothing is
 * sent before it is used.
 */
export function getDatabase<Schema = any>(
  from?: AppLike | DatabaseOptions | string,
  url?: string
): Database<NoInfer<Schema>> {
  return open(Core, from, url, followAuth)
}

/** Uses a local server. `mockUserToken` signs in with claims that are not checked. */
export function connectDatabaseEmulator(
  db: Database,
  host: string,
  port: number,
  options: { mockUserToken?: EmulatorMockTokenOptions | string } = {}
): void {
  const { connection, target } = coreOf(db)
  const address = `${host}:${port}`
  if (!/^([^/:?#@\s]+|\[.*])$/.test(host))
    invalid(`"${host}" is no host; give one as localhost, and the port after it`)
  if (connection.state !== 'offline' && target.host !== address) invalid('the database is already in use')
  const { mockUserToken: mock } = options
  const token = typeof mock === 'object' ? unsignedToken(mock, db.app.options.projectId) : mock
  Object.assign(target, { host: address, secure: false }, token && { token: () => token })
}

function unsignedToken(claims: EmulatorMockTokenOptions, project = 'demo-project'): string {
  const sub = claims.sub ?? claims.user_id ?? invalid('mockUserToken needs "sub" or "user_id"')
  const all = {
    iss: `https://securetoken.google.com/${project}`,
    aud: project,
    iat: 0,
    exp: 3600,
    auth_time: 0,
    sub,
    user_id: sub,
    firebase: { sign_in_provider: 'custom', identities: {} },
    ...claims
  }
  const part = (value: object) => {
    const text = String.fromCharCode(...new TextEncoder().encode(JSON.stringify(value)))
    return btoa(text).replace(/\+/g, '-').replace(/\//g, '_').replace(/=/g, '')
  }
  return `${part({ alg: 'none', type: 'JWT' })}.${part(all)}.`
}

/** Connects again after `goOffline`. */
export function goOnline(db: Database): void {
  connect(coreOf(db).connection)
}

/** Closes the connection until `goOnline`. Writes wait, listeners keep what they have. */
export function goOffline(db: Database): void {
  coreOf(db).connection.goOffline()
}

/**
 * Ends a database for good: nothing of it runs any more. What waits for the server
 * fails with `CLOSED`, listeners included, and so does what is begun later.
 */
export function deleteDatabase(db: Database): void {
  close(coreOf(db))
  forget(db)
}

/**
 * Signs in with a token, or with a function that returns one and is asked again
 * when the server wants a fresh one. Resolves when the server has accepted it.
 * The function has 15 seconds: then the sign-in fails with `TOKEN_TIMEOUT`, and
 * the next attempt to connect asks again. Nothing is sent meanwhile: what needs the
 * token would be refused without, and what does not only the server knows.
 */
export async function signInWithToken(db: Database, token: string | TokenProvider): Promise<void> {
  const { target } = coreOf(db)
  const source = providerOf(token)
  const provider = (refresh: boolean) => ask(source, refresh)
  target.token = provider
  const first = await provider(false)
  if (target.token !== provider) throw new DogwoodError('REPLACED', 'signed in anew, or out, meanwhile')
  await new Promise<void>((resolve, reject) => {
    signInAgain(db, first, ({ s, d }) => {
      if (s === 'ok') resolve()
      else reject(new DogwoodError(s.toUpperCase(), String(d ?? s)))
    })
    if (!first) resolve()
  })
}

/** Forgets the token. What is public stays readable. */
export function signOut(db: Database): void {
  coreOf(db).target.token = undefined
  signInAgain(db, null)
}

function signInAgain(db: Database, token: string | null, onAnswer?: (answer: Answer) => void): void {
  const { connection } = coreOf(db)
  signIn(connection, token, onAnswer)
  // The attempt may wait for another token, which is no longer needed.
  if (connection.state === 'connecting') {
    connection.goOffline()
    connect(connection)
  }
}

// ask gets a token from a provider, which may return anything, or nothing ever.
function ask(provider: TokenProvider, refresh: boolean): Promise<string | null> {
  return new Promise((resolve, reject) => {
    const late = () => reject(new DogwoodError('TOKEN_TIMEOUT', 'no token in time'))
    const timer = setTimeout(late, TOKEN_TIME)
    const token = (async () => checked(await provider(refresh)))()
    void token.then(resolve, reject).then(() => clearTimeout(timer))
  })
}

function checked(token?: unknown): string | null {
  if (typeof token === 'string') return token || null
  if (token) throw new DogwoodError('INVALID_TOKEN', `a token is a string, not of type ${typeof token}`)
  return null
}

/** What the connection is doing. */
export function connectionState(db: Database): ConnectionState {
  return coreOf(db).connection.state
}

/** Calls `next` with the state of the connection now and after every change. */
export function onConnectionState(
  db: Database,
  next: (state: ConnectionState, reason?: string) => unknown
): () => void {
  const { states, connection } = coreOf(db)
  const f = (state: ConnectionState, reason?: string) => void next(state, reason)
  states.add(f)
  f(connection.state)
  return () => void states.delete(f)
}

/** Logs all messages, to the console or to a function. */
export function enableLogging(to: boolean | ((message: string) => unknown), _persistent?: boolean): void {
  setLogger(to === true ? console.log : to || undefined)
}

/** Does nothing: there is no other transport. */
export function forceWebSockets(): void {}

/** Does nothing: there is no long polling. Use `@dogwood/client/rest` where WebSockets are blocked. */
export function forceLongPolling(): void {}
