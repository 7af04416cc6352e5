// Pages of an app with a disk, whose server is played by the test.

import 'fake-indexeddb/auto'
import { afterEach, expect } from 'vitest'
import * as client from '../../src/index.js'
import { enablePersistence, type Persistence, type PersistenceOptions } from '../../src/persistence.js'
import { eventually } from './eventually.js'
import { FakeSocket } from './fake-server.js'

const open: Persistence[] = []
afterEach(async () => {
  for (const persistence of open.splice(0).reverse()) await persistence.stop()
})

/** A page, which connects when it is used. */
export async function played(
  disk: IDBFactory,
  more: PersistenceOptions = {}
): Promise<{ db: client.Database; persistence: Persistence; crash(): void }> {
  const db = client.getDatabase({ databaseURL: 'http://localhost:9000?ns=played', WebSocket: FakeSocket })
  const persistence = await enablePersistence(db, { indexedDB: disk, shareConnection: false, ...more })
  open.push(persistence)
  return { db, persistence, crash: () => client.goOffline(db) }
}

/** Waits for the only connection, and greets it. */
export async function greeted(features: string[] = ['w']): Promise<FakeSocket> {
  await eventually(() => expect(FakeSocket.all).toHaveLength(1))
  FakeSocket.last.greet({ f: features })
  return FakeSocket.last
}

/** Waits for a request of this kind; resolves with the first one. */
export const requested = async (socket: FakeSocket, action: string): Promise<any> => {
  await eventually(() => expect(socket.requests(action)).not.toEqual([]))
  return socket.requests(action)[0]
}

/** The keys of the views on a disk. */
export async function savedViews(disk: IDBFactory): Promise<string[]> {
  const [found] = await disk.databases()
  const db = await done<IDBDatabase>(disk.open(found!.name!))
  const keys = await done(db.transaction('views').objectStore('views').getAllKeys())
  db.close()
  return keys as string[]
}

const done = <T>(request: IDBRequest<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
