import {
  type AppLike,
  checked,
  type Database,
  type DatabaseOptions,
  open,
  providerOf,
  storeOf
} from './api/database.js'
import type { DatabaseReference } from './api/reference.js'
import { DataSnapshot } from './api/snapshot.js'
import type { TransactionResult } from './api/transaction.js'
import type { Writable } from './api/types.js'
import { DogwoodError } from './core/errors.js'
import { nodeFromJSON } from './core/node.js'
import type { TokenProvider } from './core/target.js'
import { checkCallback } from './core/validate.js'
import { Reply } from './rest/reply.js'
import { RestStore } from './rest/store.js'

export * from './api/constraints.js'
export { type AppLike, Database, type DatabaseOptions } from './api/database.js'
export type { ChildInfo, Page, PageOptions } from './api/described.js'
export type { ListenOptions, Unsubscribe } from './api/listen.js'
export { type Batch, type Found, type FoundEach, KeysOf, keysOf, type Lookup } from './api/lookup.js'
export type { Notice } from './api/notice.js'
export * from './api/query.js'
export * from './api/reference.js'
export type { Refreshed } from './api/refreshed.js'
export type { Resolved } from './api/returning.js'
export * from './api/snapshot.js'
export type { At, Changes, Children, Writable } from './api/types.js'
export * from './api/write.js'
export { DogwoodError } from './core/errors.js'
export type { Explanation } from './core/explanation.js'
export type { ServerValue } from './core/scalar.js'
export { onChanges } from './rest/changes.js'
export { get } from './rest/get.js'
export { getAll } from './rest/getall.js'
export { explain, explainSet, explainUpdate, getCount } from './rest/measure.js'
export { onNotices } from './rest/notices.js'
export { getPage, pages } from './rest/page.js'
export { readable, readableKeys } from './rest/readable.js'
export { refresh } from './rest/refresh.js'
export { setReturning, updateReturning } from './rest/returning.js'
export { onValue } from './rest/stream.js'
export type { TokenProvider, TransactionResult }

/** The database of an app, of options, or at a URL, over plain HTTP. */
export function getDatabase<Schema = any>(
  from?: AppLike | DatabaseOptions | string,
  url?: string
): Database<NoInfer<Schema>> {
  return open(RestStore, from, url)
}

/** Signs in with a token, or with a function that is asked again when one is refused. */
export function signInWithToken(db: Database, token: string | TokenProvider): void {
  storeOf(db).target.token = providerOf(token)
}

/** Forgets the token. */
export function signOut(db: Database): void {
  storeOf(db).target.token = undefined
}

const MAX_TRIES = 25

// A value that may not be read counts as absent until the server says otherwise: a client
// that may not read a path may still be the first to write there.
function unreadable(error: DogwoodError): Reply {
  if (error.code !== 'PERMISSION_DENIED') throw error
  return new Reply(new Response('null', { headers: { etag: 'null_etag' } }))
}

/**
 * Replaces a value by what `update` makes of it, on condition that nobody has
 * changed it meanwhile, else again. Undefined ends it.
 */
export async function runTransaction<T>(
  ref: DatabaseReference<T>,
  update: (value: T | null) => Writable<T> | undefined | void
): Promise<Pick<TransactionResult<T>, 'committed' | 'snapshot'>> {
  const store = checked(ref).db.store as RestStore
  checkCallback(update)
  const headers = { 'x-firebase-etag': 'true' }
  let reply = await store.request('GET', ref.path, { headers }).catch(unreadable)
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const node = nodeFromJSON(await reply.json())
    const body = update(node.toJSON() as T | null)
    if (body === undefined) return { committed: false, snapshot: new DataSnapshot(node, ref) }
    const match = { ...headers, 'if-match': reply.head.headers.get('etag')! }
    reply = await store.request('PUT', ref.path, { headers: match, body })
    if (reply.head.ok)
      return { committed: true, snapshot: new DataSnapshot(nodeFromJSON(await reply.json()), ref) }
  }
  throw new DogwoodError('MAXRETRY', 'maxretry')
}
