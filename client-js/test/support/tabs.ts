// Pages of an app that keep what they see in a database of the browser, and one server for
// all tests of a file.

import { IDBFactory } from 'fake-indexeddb'
import 'fake-indexeddb/auto'
import { afterAll, afterEach, beforeAll } from 'vitest'
import * as client from '../../src/index.js'
import { enablePersistence, type Persistence, type PersistenceOptions } from '../../src/persistence.js'
import type { Browser } from './locks.js'
import { freshNamespace, Server } from './server.js'

export let server: Server
/** The namespace of the test at hand. */
export let ns: string
export const open: { stop(): unknown }[] = []

beforeAll(async () => {
  server = await new Server().start()
}, 120_000)
afterAll(() => server?.stop())
afterEach(async () => {
  for (const { stop } of open.splice(0).reverse()) await stop()
})

export interface Tab {
  db: client.Database
  persistence: Persistence
  /** Ends the tab without a word, as a crash would. */
  crash(): void
}

/** A page of an app; `disk` and `browser` are what it shares with others. */
export async function page(
  disk: IDBFactory,
  more: PersistenceOptions = {},
  online = true,
  browser?: Browser
): Promise<Tab> {
  const db = client.getDatabase({ databaseURL: server.url(ns) })
  const locks = browser?.tab()
  if (!online) client.goOffline(db)
  const persistence = await enablePersistence(db, {
    indexedDB: disk,
    locks,
    shareConnection: !!browser,
    ...more
  })
  let alive = true
  open.push({
    async stop() {
      if (alive) await persistence.stop()
      client.deleteDatabase(db)
    }
  })
  return {
    db,
    persistence,
    crash() {
      alive = false
      locks?.kill()
      client.goOffline(db)
    }
  }
}

/** A new disk, and a new namespace with it. */
export const disks = () => {
  ns = freshNamespace()
  return new IDBFactory()
}

/** Catches the promises of a page that is gone. */
export const nobodyHears = () => {}
