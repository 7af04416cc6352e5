import type { SocketClass } from './socket.js'

/** Returns the token to sign in with; a fresh one with `refresh`, after a refusal. */
export type TokenProvider = (
  refresh: boolean
) => Promise<string | null | undefined> | string | null | undefined

/** Where the server is and how to get there. */
export interface Target {
  host: string
  secure: boolean
  namespace: string
  token?: TokenProvider
  WebSocket?: SocketClass
  /** The limit of an answer over HTTP. */
  maxBytes?: number
}

/**
 * What a connection is doing.
 * - `offline`: not wanted, before first use or after `goOffline`
 * - `connecting`, `connected`
 * - `waiting`: until the next attempt
 * - `refused`: the server told this client to go away, or refuses its token
 */
export type ConnectionState = 'offline' | 'connecting' | 'connected' | 'waiting' | 'refused'

/** Tells the token of a user, which has three parts, from a secret. */
export const isJWT = (token: string): boolean => /^[^.]*(\.[^.]*){2}$/.test(token)
