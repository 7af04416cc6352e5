import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { IDBFactory } from 'fake-indexeddb'
import 'fake-indexeddb/auto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  child,
  deleteDatabase,
  getDatabase,
  goOffline,
  increment,
  limitToFirst,
  limitToLast,
  onConnectionState,
  orderByValue,
  query,
  ref,
  set,
  startAt
} from '../../src/index.js'
import { enablePersistence } from '../../src/persistence.js'
import { eventually } from '../support/eventually.js'
import { Relay } from '../support/relay.js'
import { seen } from '../support/seen.js'
import { freshNamespace, Server } from '../support/server.js'

let server: Server
const folder = mkdtempSync(join(tmpdir(), 'client-js-'))

beforeAll(async () => {
  server = await new Server(['--data', folder]).start()
}, 120_000)
afterAll(async () => {
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
})

test('listeners and writes survive restarts of the server', async () => {
  const ns = freshNamespace()
  const db = getDatabase({ databaseURL: server.url(ns) })
  const list = ref(db, 'list')
  const all = seen(db, list)
  const last = seen(db, query(list, limitToLast(1)))
  await set(child(list, 'a'), 1)
  for (const [n, signal] of (['SIGTERM', 'SIGKILL', 'SIGTERM'] as const).entries()) {
    await server.stop(signal)
    const written = set(child(list, `b${n}`), n)
    await last.until({ [`b${n}`]: n }) // at once
    await server.start()
    await written
    expect(await server.rest(ns, 'GET', `/list/b${n}`)).toBe(n)
    await server.rest(ns, 'PUT', `/list/c${n}`, n)
    await last.until({ [`c${n}`]: n })
    await server.rest(ns, 'DELETE', `/list/c${n}`)
    await last.until({ [`b${n}`]: n })
  }
  await all.until({ a: 1, b0: 0, b1: 1, b2: 2 })
  const states: string[] = []
  onConnectionState(db, state => states.push(state))
  deleteDatabase(db)
  expect(states).toEqual(['connected', 'offline'])
})

test('an increment counts once, whatever is killed', async () => {
  const ns = freshNamespace()
  const disk = new IDBFactory()
  const count = () => server.rest(ns, 'GET', '/count')
  const relay = await new Relay(server.port).start()
  const rounds = 4
  for (let round = 1; round <= rounds; round++) {
    relay.mend()
    const db = getDatabase({ databaseURL: `http://${relay.host}?ns=${ns}` })
    const persistence = await enablePersistence(db, { indexedDB: disk, locks: undefined })
    const at = ref(db, 'count')
    await set(ref(db, 'round'), round) // after all that was left from before
    expect(await count()).toBe(round === 1 ? null : (round - 1) * 3)
    // The server does it, but the answer is lost.
    relay.mute()
    for (let i = 0; i < 3; i++) void set(at, increment(1)).catch(() => {})
    await eventually(async () => expect(await count()).toBe(round * 3))
    await persistence.flush()
    relay.cut()
    goOffline(db)
    await persistence.stop()
    await server.stop('SIGKILL')
    await server.start()
  }
  relay.stop()
})

test('data newer than a write whose answer was lost is seen, in windows too', async () => {
  const ns = freshNamespace()
  const relay = await new Relay(server.port).start()
  await server.rest(ns, 'PUT', '/list', { 1: 1, a: 5, b: 6, c: 7 })
  const db = getDatabase({ databaseURL: `http://${relay.host}?ns=${ns}` })
  const persistence = await enablePersistence(db, { indexedDB: new IDBFactory(), locks: undefined })
  const list = ref(db, 'list')
  const large = seen(db, query(list, orderByValue(), startAt(2)))
  const first = seen(db, query(list, limitToFirst(3)))
  await large.until({ a: 5, b: 6, c: 7 })
  await first.until({ 1: 1, a: 5, b: 6 })
  relay.mute()
  const written = set(child(list, '10'), 3)
  await eventually(async () => expect(await server.rest(ns, 'GET', '/list/10')).toBe(3))
  await server.rest(ns, 'PUT', '/list/10', { '.value': 1, '.priority': 9 })
  relay.cut()
  relay.mend()
  await written
  await large.until({ a: 5, b: 6, c: 7 })
  await first.until({ 1: 1, a: 5, b: 6 })
  await persistence.stop()
  relay.stop()
})
