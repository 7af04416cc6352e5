import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  type Database,
  deleteDatabase,
  events,
  getDatabase,
  goOnline,
  limitToFirst,
  query,
  ref,
  values
} from '../../src/index.js'
import { FakeSocket } from '../support/fake-server.js'

let db: Database
let socket: FakeSocket

beforeEach(async () => {
  db = getDatabase({ databaseURL: 'http://localhost:9000', WebSocket: FakeSocket })
  goOnline(db)
  await new Promise(resolve => setTimeout(resolve))
  socket = FakeSocket.last
  socket.greet()
})
afterEach(() => deleteDatabase(db))

const soon = () => new Promise(resolve => setTimeout(resolve))

test('a slow loop over values sees the newest', async () => {
  const loop = values(ref(db, 'a'))
  const first = loop.next()
  socket.push('d', { p: 'a', d: 1 })
  expect((await first).value!.val()).toBe(1)
  for (const n of [2, 3, 4]) socket.push('d', { p: 'a', d: n })
  expect((await loop.next()).value!.val()).toBe(4)
})

test('leaving a loop stops listening', async () => {
  const seen: unknown[] = []
  const loop = (async () => {
    for await (const snapshot of values(ref(db, 'a'))) {
      seen.push(snapshot.val())
      break
    }
  })()
  await soon()
  socket.push('d', { p: 'a', d: 1 })
  await loop
  expect(seen).toEqual([1])
  expect(socket.requests('n')).toHaveLength(1)
})

test('events come in order, also to a slow loop', async () => {
  const loop = events(query(ref(db, 'list'), limitToFirst(2)))
  const first = loop.next()
  await soon()
  const { p, t } = socket.requests('q')[0].b
  socket.push('d', { p, t, d: { a: 1, b: 2 } })
  socket.push('m', { p, t, d: { b: null, aa: 3 } })
  const seen = [(await first).value!]
  for (let i = 0; i < 3; i++) seen.push((await loop.next()).value!)
  expect(
    seen.map(({ type, snapshot, previousChildName }) => [type, snapshot.key, previousChildName])
  ).toEqual([
    ['child_added', 'a', null],
    ['child_added', 'b', 'a'],
    ['child_removed', 'b', undefined],
    ['child_added', 'aa', 'a']
  ])
})

test('a denial ends the loop with an error', async () => {
  const next = values(ref(db, 'a')).next()
  await soon()
  socket.answer(socket.requests('q')[0].r, 'permission_denied', 'Permission denied')
  await expect(next).rejects.toMatchObject({ code: 'PERMISSION_DENIED' })
})

test('a loop that waits is ended from outside', async () => {
  const loop = values(ref(db, 'a'))
  const waiting = loop.next()
  await soon()
  socket.push('d', { p: 'a', d: 1 })
  expect((await waiting).value!.val()).toBe(1)
  const next = loop.next()
  expect(await loop.return()).toEqual({ value: undefined, done: true })
  expect(await next).toEqual({ value: undefined, done: true })
  expect(socket.requests('n')).toHaveLength(1)
  const never = events(ref(db, 'b'))
  await never.return()
  expect(await never.next()).toEqual({ value: undefined, done: true })
  expect(socket.requests('q')).toHaveLength(1)
})

test('a loop begins with all children, and ends when too many events wait', async () => {
  const many = 12_000
  const loop = events(ref(db, 'list'))
  const first = loop.next()
  await soon()
  const children = Object.fromEntries(Array.from({ length: many }, (_, i) => [`k${i}`, i]))
  socket.push('d', { p: 'list', d: children })
  const keys = new Set([(await first).value!.snapshot.key])
  while (keys.size < many) keys.add((await loop.next()).value!.snapshot.key)
  for (let i = 0; i < 10_200; i++) {
    socket.push('m', { p: 'list', d: { k0: -i - 1 } })
    if (i % 100 === 0) await soon()
  }
  await expect(
    (async () => {
      for await (const { type } of loop) expect(type).toBe('child_changed')
    })()
  ).rejects.toMatchObject({ code: 'OVERFLOW' })
})

test('a loop that never has taken all holds no event that it has taken', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const loop = events(ref(db, 'list'))
  const first = loop.next()
  await soon()
  const taken: WeakRef<object>[] = []
  const take = async (next: ReturnType<typeof loop.next>) => void taken.push(new WeakRef((await next).value!))
  socket.push('d', { p: 'list', d: { a: 0, b: 0 } })
  await take(first)
  for (let n = 1; n <= 50; n++) {
    socket.push('m', { p: 'list', d: { a: n } })
    await take(loop.next())
  }
  await soon()
  collect()
  expect(taken.slice(1, 40).filter(event => event.deref())).toEqual([])
})
