// A connection of somebody. The page has one for its user, and more where it shows what
// others see or do.

import {
  type ConnectionState,
  type Database,
  deleteDatabase,
  getDatabase,
  goOffline,
  goOnline,
  onConnectionState
} from '@dogwood/client'
import { enablePersistence, type Persistence, type PersistenceOptions } from '@dogwood/client/persistence'
import { Signal } from './dom.js'
import { namespace, type Person } from './model.js'
import { tapped } from './tap.js'

export interface Client {
  readonly person: Person
  readonly db: Database
  readonly persistence?: Persistence
  /** Ends the connection for good. */
  close(): void
}

const OFFLINE = 'dogwood-demo-offline'

/** Whether the page was told to be offline. It stays so when it is loaded again. */
export const network = {
  changed: new Signal(),
  get off(): boolean {
    return sessionStorage.getItem(OFFLINE) !== null
  },
  set off(off: boolean) {
    if (off) sessionStorage.setItem(OFFLINE, '')
    else sessionStorage.removeItem(OFFLINE)
    for (const { db } of clients) (off ? goOffline : goOnline)(db)
    this.changed.emit()
  }
}

const clients = new Set<Client>()

/** The credential of somebody. A development server takes tokens that nobody signed. */
export function tokenOf(person: Person): string | null {
  if (person.owner) return 'owner'
  if (!person.uid) return null
  const iat = Math.floor(Date.now() / 1000)
  const claims = {
    iss: 'https://securetoken.google.com/demo',
    aud: 'demo',
    auth_time: iat,
    iat,
    exp: iat + 3600,
    ...person.claims,
    sub: person.uid,
    user_id: person.uid
  }
  return `${part({ alg: 'none', typ: 'JWT' })}.${part(claims)}.`
}

function part(value: object): string {
  const bytes = new TextEncoder().encode(JSON.stringify(value))
  return btoa(String.fromCharCode(...bytes))
    .replace(/\+/g, '-')
    .replace(/\//g, '_')
    .replace(/=/g, '')
}

/**
 * Connects as somebody. With `keep`, what was seen and what is not sent yet outlasts the
 * page, apart from that of others.
 */
export async function connect(
  person: Person,
  { keep = false, onRefused }: { keep?: boolean; onRefused?: PersistenceOptions['onRefused'] } = {}
): Promise<Client> {
  const db = getDatabase({
    databaseURL: `${location.origin}?ns=${namespace}`,
    WebSocket: tapped(person.name),
    token: () => tokenOf(person)
  })
  if (network.off) goOffline(db)
  const persistence =
    keep && canKeep() ? await enablePersistence(db, { ...ownStorage(person.id), onRefused }) : undefined
  const client: Client = {
    person,
    db,
    persistence,
    close() {
      clients.delete(client)
      deleteDatabase(db)
    }
  }
  if (!network.off) goOnline(db)
  clients.add(client)
  return client
}

// Only pages that came over TLS or from this machine have all of it.
const canKeep = (): boolean => isSecureContext && !!globalThis.indexedDB && !!navigator.locks

/**
 * What persistence needs of the browser, with all names made those of one person: users of
 * the page change, and nothing on disk says whose it is. Each page has its own connection,
 * whose messages it shows.
 */
function ownStorage(id: string) {
  const name = (of: string) => `${of} as ${id}`
  return {
    shareConnection: false,
    indexedDB: {
      open: (of: string, version?: number) => indexedDB.open(name(of), version)
    } as IDBFactory,
    locks: {
      request: (of: string, ...rest: any[]) => (navigator.locks.request as any)(name(of), ...rest)
    } as Pick<LockManager, 'request'>
  }
}

/** Calls `f` with the state of a client's connection, now and when it changes. */
export function onState({ db }: Client, f: (state: ConnectionState) => void): void {
  onConnectionState(db, f)
}
