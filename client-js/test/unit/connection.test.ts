// When the client connects, and what it does after a loss.

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  connectDatabaseEmulator,
  connectionState,
  type Database,
  DogwoodError,
  equalTo,
  get,
  goOffline,
  goOnline,
  increment,
  limitToLast,
  max,
  min,
  onChildAdded,
  onConnectionState,
  onDisconnect,
  onValue,
  orderByValue,
  query,
  ref,
  runTransaction,
  set,
  update
} from '../../src/index.js'
import { FakeSocket } from '../support/fake-server.js'
import { closePlayed, openPlayed } from '../support/played.js'

let db: Database

beforeEach(() => {
  db = openPlayed()
})

afterEach(() => closePlayed(db))

const tick = (ms = 0) => vi.advanceTimersByTimeAsync(ms)

async function connected(): Promise<FakeSocket> {
  goOnline(db)
  await tick()
  FakeSocket.last.greet()
  return FakeSocket.last
}

test('nothing is sent before the database is used', async () => {
  await tick(60_000)
  expect(FakeSocket.all).toEqual([])
  expect(connectionState(db)).toBe('offline')
})

test('the first use connects, with the namespace', async () => {
  onValue(ref(db, 'a'), () => {})
  await tick()
  expect(FakeSocket.last.url).toBe('ws://localhost:9000/.ws?v=5&ns=demo')
})

test('a listener for the state of the connection opens one', async () => {
  const seen: unknown[] = []
  onValue(ref(db, '.info/connected'), snapshot => seen.push(snapshot.val()))
  await tick()
  FakeSocket.last.greet()
  expect(seen).toEqual([false, true])
})

test('after a loss it signs in, listens with hashes, and writes again', async () => {
  connectDatabaseEmulator(db, 'localhost', 9000, { mockUserToken: { sub: 'ana' } })
  onValue(ref(db, 'a'), () => {})
  await tick()
  const first = FakeSocket.last
  first.greet()
  expect(first.sent.map(({ d }) => d.a)).toEqual(['auth', 'q'])
  first.push('d', { p: 'a', d: 1 })
  first.answer(first.requests('q')[0].r, 'ok', {})
  set(ref(db, 'b'), 2)
  first.onclose()
  expect(connectionState(db)).toBe('waiting')
  await tick(1000)
  const second = FakeSocket.last
  expect(second).not.toBe(first)
  expect(second.url).toContain('&ls=session')
  second.greet()
  expect(second.sent.map(({ d }) => d.a)).toEqual(['auth', 'q'])
  second.answer(second.requests('auth')[0].r)
  expect(second.sent.map(({ d }) => d.a)).toEqual(['auth', 'q', 'p'])
  expect(second.requests('q')[0].b.h).toBe('YPVfR2bXt/lcDjiQZ8pOkAd3qkQ=')
})

test('a silent server is asked, then left', async () => {
  const socket = await connected()
  await tick(29_000)
  expect(socket.sent).toEqual([])
  await tick(1_000)
  expect(socket.sent).toEqual([{ t: 'c', d: { t: 'p', d: {} } }])
  socket.receive({ t: 'c', d: { t: 'o', d: null } })
  await tick(39_000)
  expect(connectionState(db)).toBe('connected')
  await tick(1_000)
  expect(connectionState(db)).toBe('waiting')
  expect(socket.closed).toBe(true)
})

test('attempts get rarer, but not for a user who does something', async () => {
  goOnline(db)
  const attempts = async (ms: number) => {
    const before = FakeSocket.all.length
    for (let t = 0; t < ms; t += 100) {
      FakeSocket.last?.onerror?.({})
      await tick(100)
    }
    return FakeSocket.all.length - before
  }
  await tick()
  expect(await attempts(10_000)).toBeGreaterThan(3)
  expect(await attempts(60_000)).toBeLessThan(8)
  FakeSocket.last.onerror?.({})
  const before = FakeSocket.all.length
  set(ref(db, 'a'), 1)
  await tick(2_000)
  expect(FakeSocket.all.length).toBe(before + 1)
})

test('an attempt that is not answered is given up', async () => {
  goOnline(db)
  await tick()
  const socket = FakeSocket.last
  await tick(15_000)
  expect(socket.closed).toBe(true)
})

test('the states are told', async () => {
  const states: string[] = []
  onConnectionState(db, state => states.push(state))
  await connected()
  goOffline(db)
  expect(states).toEqual(['offline', 'waiting', 'connecting', 'connected', 'offline'])
})

test('a client that goes offline when the connection is told is offline', async () => {
  for (const path of ['.info/serverTimeOffset', '.info/connected']) {
    const told: unknown[] = []
    const stops = [
      onValue(ref(db, '.info/connected'), snapshot => told.push(snapshot.val())),
      path === '.info/connected'
        ? onConnectionState(db, state => state === 'connected' && goOffline(db))
        : onValue(ref(db, path), snapshot => snapshot.exists() && goOffline(db))
    ]
    await connected()
    expect(connectionState(db)).toBe('offline')
    expect(told.at(-1)).toBe(false)
    expect(FakeSocket.last.closed).toBe(true)
    for (const stop of stops) stop()
  }
})

test.each([
  [0, 0],
  [4000, 0],
  [-5000, -5000],
  [11_000, 7000]
])('a time %d ms after the socket was opened, read after 4 s: offset %d', async (sent, offset) => {
  goOnline(db)
  await tick()
  const ts = Date.now() + sent
  await tick(4000)
  FakeSocket.last.greet({ ts })
  let told: unknown
  onValue(ref(db, '.info/serverTimeOffset'), snapshot => (told = snapshot.val()))()
  expect(told).toBe(offset)
})

test('the server may send the client elsewhere, or away', async () => {
  const socket = await connected()
  socket.receive({ t: 'c', d: { t: 'r', d: 'other:9000' } })
  await tick()
  expect(FakeSocket.last.url).toContain('ws://other:9000/')
  FakeSocket.last.receive({ t: 'c', d: { t: 's', d: 'banned' } })
  expect(connectionState(db)).toBe('refused')
  await tick(600_000)
  expect(FakeSocket.all).toHaveLength(2)
})

test('servers that send the client around are left alone more and more', async () => {
  goOnline(db)
  for (let t = 0; t < 60_000; t += 100) {
    await tick(100)
    if (!FakeSocket.last.closed) FakeSocket.last.receive({ t: 'c', d: { t: 'r', d: 'localhost:9000' } })
  }
  expect(FakeSocket.all.length).toBeGreaterThan(4)
  expect(FakeSocket.all.length).toBeLessThan(20)
})

test('errors say what was refused, and by which rule', async () => {
  const socket = await connected()
  const errors: DogwoodError[] = []
  onValue(
    ref(db, 'a'),
    () => {},
    error => errors.push(error as DogwoodError)
  )
  const written = set(ref(db, 'a'), 1).catch((error: unknown) => error)
  socket.answer(1, 'permission_denied', 'Permission denied', { rule: '/a/.read' })
  socket.answer(2, 'permission_denied', 'Permission denied', { rule: '/a/.write' })
  expect(errors[0]).toMatchObject({ code: 'PERMISSION_DENIED', rule: '/a/.read' })
  expect(errors[0]).toBeInstanceOf(DogwoodError)
  expect(await written).toMatchObject({
    code: 'PERMISSION_DENIED',
    message: 'PERMISSION_DENIED: Permission denied (set /a)',
    rule: '/a/.write'
  })
})

test('a listener that is cancelled hears nothing more', async () => {
  const socket = await connected()
  const seen: unknown[] = []
  const latest = query(ref(db, 'list'), limitToLast(1))
  onChildAdded(
    latest,
    snap => seen.push(snap.key),
    () => seen.push('cancelled')
  )
  const { p, q, t } = socket.requests('q')[0].b
  socket.push('d', { p, t, d: { a: 1 } })
  socket.push('c', { p, q: [q] })
  socket.push('m', { p, t, d: { b: 1 } })
  expect(seen).toEqual(['a', 'cancelled'])
})

test('a conditional write that was on its way fails with the connection', async () => {
  const socket = await connected()
  const result = runTransaction(ref(db, 'n'), n => (n ?? 0) + 1).catch((error: unknown) => error)
  expect(socket.requests('p')).toHaveLength(1)
  socket.onclose()
  expect(await result).toMatchObject({ code: 'DISCONNECT' })
})

test('listeners see what the server does on disconnect', async () => {
  const socket = await connected()
  const seen: unknown[] = []
  onValue(ref(db, 'online'), snap => seen.push(snap.val()))
  socket.push('d', { p: 'online', d: true })
  const planned = onDisconnect(ref(db, 'online')).set(false)
  socket.answer(socket.requests('o')[0].r)
  await planned
  socket.onclose()
  expect(seen).toEqual([true, false])
})

test('a read is answered by what listeners have', async () => {
  const socket = await connected()
  onValue(ref(db, 'a'), () => {})
  socket.push('d', { p: 'a', d: { b: 1 } })
  set(ref(db, 'a/b'), increment(2))
  expect((await get(ref(db, 'a'))).val()).toEqual({ b: 3 })
  expect((await get(ref(db, 'a/b'))).val()).toBe(3)
  expect(socket.requests('g')).toEqual([])
})

test('the larger and the smaller number are shown before the server answers', async () => {
  const socket = await connected()
  const seen: unknown[] = []
  onValue(ref(db, 'a'), snap => seen.push(snap.val()))
  socket.push('d', { p: 'a', d: 3 })
  set(ref(db, 'a'), max(2))
  set(ref(db, 'a'), max(7))
  set(ref(db, 'a'), min(5))
  expect(seen).toEqual([3, 7, 5])
  expect(socket.requests('p').map(({ b }) => b.d)).toEqual([
    { '.sv': { max: 2 } },
    { '.sv': { max: 7 } },
    { '.sv': { min: 5 } }
  ])
})

// While the first transaction is under way, its value hides what the other client writes.
test('transactions that wait for one see what others wrote meanwhile', async () => {
  const socket = await connected()
  const count = (n: any) => ({ ...n, t: (n?.t ?? 0) + 1 })
  const all = Promise.all([1, 2, 3].map(() => runTransaction(ref(db, 'a'), count)))
  socket.answer(socket.requests('q')[0].r)
  const [first] = socket.requests('p')
  expect(first.b).toEqual({ p: '/a', d: { t: 1 }, h: '' })
  socket.push('d', { p: 'a', d: { t: 1 } })
  socket.push('d', { p: 'a/other', d: true })
  socket.answer(first.r)
  const [, second] = socket.requests('p')
  expect(second.b.d).toEqual({ t: 3, other: true })
  socket.push('d', { p: 'a', d: { t: 3, other: true } })
  socket.answer(second.r)
  const results = await all
  expect(results.map(({ snapshot }) => snapshot.val())).toEqual([
    { t: 1 },
    { t: 2, other: true },
    { t: 3, other: true }
  ])
})

test('an update function may write where other transactions wait, and end them', async () => {
  const socket = await connected()
  const seen: unknown[] = []
  onValue(ref(db, 'n'), snap => seen.push(snap.val()))
  socket.answer(socket.requests('q')[0].r)
  const codes: string[] = []
  let calls = 0
  const start = (update: (n: any) => unknown) =>
    runTransaction(ref(db, 'n'), update).catch(({ code }) => void codes.push(code))
  const first = start(n => {
    if (++calls === 2) void set(ref(db, 'n'), 50)
    return (n ?? 0) + 1
  })
  const second = start(n => (n ?? 0) + 10)
  const [put] = socket.requests('p')
  socket.push('d', { p: 'n', d: 5 })
  socket.answer(put.r, 'datastale')
  await Promise.all([first, second])
  expect(codes).toEqual(['SET', 'SET'])
  expect([calls, seen.at(-1)]).toEqual([2, 50])
  const written = socket.requests('p').at(-1)
  expect(written.b).toEqual({ p: '/n', d: 50 })
  socket.push('d', { p: 'n', d: 50 })
  socket.answer(written.r)
  socket.push('d', { p: 'n', d: 60 })
  expect(seen.at(-1), 'no other write covers it').toBe(60)
})

test('an update function that throws rejects the transaction', async () => {
  await connected()
  const boom = new Error('boom')
  const result = runTransaction(ref(db, 'n'), () => {
    throw boom
  })
  await expect(result).rejects.toBe(boom)
})

test.each([
  ['that is no JSON', 'garbage'],
  ['that is null', 'null'],
  ['without a body', '{"t":"d"}'],
  ['of a kind that has no name', '{"t":"d","d":{"a":"d","b":{"p":7,"d":1}}}'],
  [
    'too deep to keep',
    `{"t":"d","d":{"a":"d","b":{"p":"a","d":${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}}}}`
  ]
])('a message %s ends the connection, and the next one goes on', async (_, message) => {
  const seen: unknown[] = []
  const socket = await connected()
  onValue(ref(db, 'a'), snap => seen.push(snap.val()))
  socket.onmessage({ data: message })
  expect(connectionState(db)).toBe('waiting')
  expect(socket.closed).toBe(true)
  await tick(1000)
  FakeSocket.last.greet()
  FakeSocket.last.push('d', { p: 'a', d: 1 })
  expect(seen).toEqual([1])
})

test('a message in pieces is bounded', async () => {
  const socket = await connected()
  socket.onmessage({ data: '999999' })
  const piece = 'x'.repeat(1 << 26)
  for (let i = 0; i < 4; i++) socket.onmessage({ data: piece })
  expect(connectionState(db)).toBe('connected')
  socket.onmessage({ data: piece })
  expect(connectionState(db)).toBe('waiting')
})

test('more children than a call has arguments are written and heard of', async () => {
  const socket = await connected()
  const many = Object.fromEntries(Array.from({ length: 130_000 }, (_, i) => [`k${i}`, i]))
  let added = 0
  onChildAdded(ref(db, 'a'), () => added++)
  socket.push('d', { p: 'a', d: many })
  expect(added).toBe(130_000)
  void set(ref(db, 'b'), many)
  void update(ref(db, 'c'), many)
  expect(socket.requests('p')).toHaveLength(1)
  expect(socket.requests('m')).toHaveLength(1)
})

test('an update names no path twice', () => {
  const list = ref(db, 'list')
  for (const values of [
    { a: 1, 'a/b': 2 },
    { 'a/b': 2, a: 1 },
    { 'a/b': 1, 'a/b/': 2 },
    { 'a/b/c': 1, x: 1, a: 2 }
  ])
    expect(() => update(list, values), JSON.stringify(values)).toThrow(/two writes at \/list\/a/)
  void update(list, { a: 1, ab: 2, 'b/a': 3, 'b/c': 4 })
})

test('wrong arguments are errors with a code', () => {
  const wrong = [
    () => ref(db, 'a.b'),
    () => set(ref(db, 'a'), Number.NaN),
    () => query(ref(db, 'a'), limitToLast(0))
  ]
  for (const call of wrong) expect(call).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
})

describe('what is longer than a server takes', () => {
  const mega = 'x'.repeat(2 ** 20)
  const large = () => Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`k${i}`, mega]))
  const tooBig = expect.objectContaining({
    code: 'TOO_BIG',
    message: expect.stringMatching(/: \d+ bytes, and the server takes 16842752( \(|$)/)
  })

  test('is refused without sending it, and all else goes on', async () => {
    const socket = await connected()
    const seen: unknown[] = []
    onValue(ref(db, 'a'), snapshot => seen.push(snapshot.val()))
    socket.push('d', { p: 'a', d: 1 })
    const wide = query(ref(db, 'b'), orderByValue(), equalTo(mega.repeat(9)))
    const calls = [
      set(ref(db, 'a'), large()),
      update(ref(db, 'a'), large()),
      onDisconnect(ref(db, 'a')).set(large()),
      get(wide),
      new Promise((_, reject) => onValue(wide, () => {}, reject)),
      runTransaction(ref(db, 'a'), large)
    ]
    for (const call of calls) await expect(call).rejects.toEqual(tooBig)
    expect(seen[0]).toBe(1)
    expect(seen.at(-1)).toBe(1)
    expect(socket.sent.map(({ d }) => d.a)).not.toContain('p')
    const small = set(ref(db, 'a'), 2)
    socket.answer(socket.requests('p')[0].r)
    await small
    expect(FakeSocket.all).toHaveLength(1)
  })

  test('is what has more bytes, not characters', async () => {
    const socket = await connected()
    void set(ref(db, 'a'), mega.repeat(16))
    expect(socket.requests('p')).toHaveLength(1)
    await expect(set(ref(db, 'a'), 'ü'.repeat(2 ** 23 + 2 ** 15))).rejects.toEqual(tooBig)
    expect(socket.requests('p')).toHaveLength(1)
  })

  test('is refused as soon as there is a connection', async () => {
    const call = expect(set(ref(db, 'a'), large())).rejects.toEqual(tooBig)
    const socket = await connected()
    await call
    expect(socket.requests('p')).toEqual([])
  })
})

test.each([undefined, null, 'ok', {}, { s: 5 }])('an answer that is none is an error: %j', async b => {
  const socket = await connected()
  const bad = expect.objectContaining({ code: 'BAD_ANSWER' })
  const call = expect(get(ref(db, 'a'))).rejects.toEqual(bad)
  socket.receive({ t: 'd', d: { r: socket.requests('g')[0].r, b } })
  await call
  expect(connectionState(db)).toBe('waiting')
})
