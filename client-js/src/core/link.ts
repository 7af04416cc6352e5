import type { Answer } from './errors.js'
import type { Path } from './path.js'
import type { Event, Provider } from './sync.js'
import type { ConnectionState } from './target.js'

/** Receives what a connection reports. */
export interface Handler {
  push(path: Path, data: unknown, merge: boolean, tag?: number): void
  events(path: Path, events: Event[]): void
  clock(offset: number): void
  connected(connected: boolean): void
  state(state: ConnectionState, reason?: string): void
}

/** Requests that outlive a connection, in the order in which they are sent again. */
export type Kind = 'write' | 'disconnect' | 'get'

/** A request that has no answer yet. */
export interface Request {
  readonly kind: Kind
  readonly action: string
  readonly body: Record<string, unknown>
  /** Lets the server recognize a write that it has already taken. */
  readonly writeId?: string
  readonly done: (answer: Answer) => void
  /** It is on its way: sent over this connection, and not answered yet. */
  sent?: boolean
}

/**
 * What a database asks of its server goes through a Link: the connection itself, or a
 * layer that has another Link below it and passes on what it does not handle.
 */
export interface Link extends Provider {
  /** `writeId` lets the server recognize a write that it already has. */
  send(
    kind: Kind,
    action: string,
    body: Record<string, unknown>,
    done: (answer: Answer) => void,
    writeId?: string
  ): void
  /** A transaction begins at `path`; returns what to call when it ends. May throw. */
  begin?(path: Path): () => void
}
