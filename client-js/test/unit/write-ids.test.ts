import { IDBFactory } from 'fake-indexeddb'
import 'fake-indexeddb/auto'
import { afterEach, expect, test, vi } from 'vitest'
import {
  type Database,
  deleteDatabase,
  getDatabase,
  goOnline,
  increment,
  ref,
  runTransaction,
  set,
  update
} from '../../src/index.js'
import { enablePersistence } from '../../src/persistence.js'
import { FakeSocket } from '../support/fake-server.js'

const open: Database[] = []

afterEach(() => open.splice(0).forEach(deleteDatabase))

async function page(
  disk: IDBFactory
): Promise<{ db: Database; connect(more?: object): Promise<FakeSocket> }> {
  const db = getDatabase({ databaseURL: 'http://localhost:9000', WebSocket: FakeSocket })
  open.push(db)
  await enablePersistence(db, { indexedDB: disk })
  return {
    db,
    async connect(more) {
      goOnline(db)
      const before = FakeSocket.all.length
      while (FakeSocket.all.length === before) await new Promise(resolve => setTimeout(resolve))
      FakeSocket.last.greet(more)
      return FakeSocket.last
    }
  }
}

test('writes have ids if the server knows what they are', async () => {
  const { db, connect } = await page(new IDBFactory())
  void set(ref(db, 'a'), 1)
  void update(ref(db, 'b'), { c: increment(1) })
  const plain = await connect()
  expect(plain.requests('p')[0].b).toEqual({ p: '/a', d: 1 })
  plain.onclose()
  const socket = await connect({ f: ['w', 'other'] })
  const ids = [...socket.requests('p'), ...socket.requests('m')].map(({ b }) => b.w)
  expect(ids).toEqual([expect.stringMatching(/^[-0-9a-f]{36}:1$/), ids[0].replace(/1$/, '2')])
  void runTransaction(ref(db, 't'), () => 1).catch(() => {})
  await vi.waitFor(() => expect(socket.requests('p')).toHaveLength(2)) // it goes after its listen
  expect(socket.requests('p').at(-1).b).not.toHaveProperty('w')
})

test('a write that was sent before a crash is sent again with its id', async () => {
  const disk = new IDBFactory()
  const first = await page(disk)
  void set(ref(first.db, 'a'), 1)
  const before = await first.connect({ f: ['w'] })
  const { w } = before.requests('p')[0].b
  deleteDatabase(first.db)
  const second = await page(disk)
  const after = await second.connect({ f: ['w'] })
  expect(after.requests('p').map(({ b }) => b)).toEqual([{ p: '/a', d: 1, w }])
  after.answer(after.requests('p')[0].r)
  deleteDatabase(second.db)
  const third = await page(disk)
  const last = await third.connect({ f: ['w'] })
  expect(last.requests('p')).toEqual([])
})
