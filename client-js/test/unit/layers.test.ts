// What stands between a database and its connection.

import { IDBFactory } from 'fake-indexeddb'
import 'fake-indexeddb/auto'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import type { Core } from '../../src/core/core.js'
import type { Link } from '../../src/core/link.js'
import * as client from '../../src/index.js'
import { enablePersistence } from '../../src/persistence.js'
import { FakeSocket } from '../support/fake-server.js'

let db: client.Database
let core: Core

beforeEach(() => {
  FakeSocket.all.length = 0
  db = open()
  core = db.store as Core
})

function open(): client.Database {
  const db = client.getDatabase({ databaseURL: 'http://localhost:9000', WebSocket: FakeSocket })
  onTestFinished(() => client.deleteDatabase(db))
  return db
}

/** The methods of objects of ours, from `object` on, that were replaced in the object itself. */
function replaced(object: object, name = 'core', seen = new Set<unknown>()): string[] {
  seen.add(object)
  const { prototype } = object.constructor ?? {}
  return Object.entries(object).flatMap(([key, value]) => {
    const found = typeof prototype?.[key] === 'function' ? [`${name}.${key}`] : []
    const isOurs = value && typeof value === 'object' && !(value instanceof IDBDatabase)
    return isOurs && !seen.has(value) ? [...found, ...replaced(value, `${name}.${key}`, seen)] : found
  })
}

test('persistence replaces no method of another object', async () => {
  const persistence = await enablePersistence(db, { indexedDB: new IDBFactory() })
  client.onValue(client.ref(db, 'a'), () => {})
  expect(replaced(core)).toEqual([])
  core.connection.send = () => {}
  expect(replaced(core)).toEqual(['core.connection.send'])
  await persistence.stop()
})

test('all that is asked of the server goes through the link', async () => {
  const passed: string[] = []
  const { connection } = core
  const layer: Link = {
    listen(subscription) {
      passed.push('listen')
      return connection.listen(subscription)
    },
    unlisten(path, id) {
      passed.push('unlisten')
      connection.unlisten(path, id)
    },
    send(kind, action, body, done, writeId) {
      passed.push(`${kind} ${action}`)
      connection.send(kind, action, body, done, writeId)
    },
    begin() {
      passed.push('begin')
      return () => passed.push('end')
    }
  }
  core.link = layer
  const at = client.ref(db, 'a')
  const fails = (promise: Promise<unknown>) => void promise.catch(() => {})

  client.onValue(at, () => {})()
  expect(passed.splice(0)).toEqual(['listen', 'unlisten'])
  fails(client.set(at, 1))
  fails(client.update(at, { b: 2 }))
  expect(passed.splice(0)).toEqual(['write p', 'write m'])
  const read = client.get(client.ref(db, 'b'))
  fails(client.onDisconnect(at).set(1))
  expect(passed.splice(0)).toEqual(['get g', 'disconnect o'])
  fails(client.runTransaction(at, () => 3))
  expect(passed.splice(0)).toEqual(['begin', 'listen', 'write p'])

  await vi.waitFor(() => expect(FakeSocket.all).toHaveLength(1))
  const [socket] = FakeSocket.all
  socket!.greet({ f: ['c', 'h', 'n'] })
  socket!.answer(socket!.requests('g')[0].r, 'ok', 5)
  fails(client.refresh(client.ref(db, 'b'), await read))
  fails(client.getCount(client.ref(db, 'c')))
  fails(client.onDisconnectIf(at, '', 1).set(2))
  await vi.waitFor(() => expect(passed).toEqual(['get g', 'get cn', 'disconnect o']))
})

test('a listener is found again while it is held back', async () => {
  await enablePersistence(db, { indexedDB: new IDBFactory() })
  const at = client.ref(db, 'a')
  const ended = [vi.fn(), vi.fn(), vi.fn()]
  const first = vi.fn()
  client.onValue(at, ended[0]!)()
  client.onValue(at, ended[1]!)
  client.off(at, 'value', ended[1])
  client.onChildAdded(at, ended[2]!)
  client.off(at, 'child_added')
  client.onValue(at, first, { onlyOnce: true })
  await vi.waitFor(() => expect(FakeSocket.all).toHaveLength(1))
  FakeSocket.all[0]!.greet()
  await vi.waitFor(() => expect(FakeSocket.all[0]!.requests('q')).toHaveLength(1))
  FakeSocket.all[0]!.push('d', { p: 'a', d: { x: 1 } })
  FakeSocket.all[0]!.push('d', { p: 'a', d: { x: 2 } })
  expect(first).toHaveBeenCalledTimes(1)
  expect(ended.map(f => f.mock.calls)).toEqual([[], [], []])
  expect(FakeSocket.all[0]!.requests('n')).toHaveLength(1)
})
