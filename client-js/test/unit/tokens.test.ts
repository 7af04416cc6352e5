// Signing in: tokens, providers of them, and what waits for them.

import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import {
  connectionState,
  type Database,
  deleteDatabase,
  getDatabase,
  goOffline,
  goOnline,
  ref,
  set,
  signInWithToken,
  signOut
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

test('a token that is no string is an error, and nothing is harmed', async () => {
  for (const token of [{ a: 1 }, 5, () => 'x', true]) {
    const error = await signInWithToken(db, () => token as any).catch((error: unknown) => error)
    expect(error).toMatchObject({ code: 'INVALID_TOKEN' })
  }
  signOut(db)
  const socket = await connected()
  const written = set(ref(db, 'a'), 1)
  socket.answer(socket.requests('p')[0].r)
  await written
})

test('a token of an app that is no string is refused as any other', async () => {
  const options = {
    databaseURL: 'http://localhost:9000?ns=odd',
    WebSocket: FakeSocket,
    token: () => 5 as any
  }
  const odd = getDatabase(options)
  goOnline(odd)
  await tick()
  FakeSocket.last.greet()
  expect(FakeSocket.last.requests('gauth')).toMatchObject([{ b: { cred: 5 } }])
  deleteDatabase(odd)
})

test('a provider of tokens that never answers is given up', async () => {
  const result = signInWithToken(db, () => new Promise(() => {})).catch((error: unknown) => error)
  await tick(15_000)
  expect(await result).toMatchObject({ code: 'TOKEN_TIMEOUT' })
})

// Only the server knows what is public: without the token, it would refuse the rest.
test('a write made while a provider hangs waits for the one that answers', async () => {
  let answer: string | undefined
  const provider = () => answer ?? new Promise<string>(() => {})
  signInWithToken(db, provider).catch(() => {})
  const written = set(ref(db, 'a'), 1)
  await tick(60_000)
  expect(FakeSocket.all).toEqual([])
  answer = 'secret'
  while (!FakeSocket.all.length) await tick(100)
  const socket = FakeSocket.last
  socket.greet()
  expect(socket.sent.map(({ d }) => d.a)).toEqual(['gauth'])
  socket.answer(1)
  expect(socket.sent.map(({ d }) => d.a)).toEqual(['gauth', 'p'])
  socket.answer(2)
  await written
})

test('signing out, or in anew, does not wait for a provider', async () => {
  for (const other of [() => signOut(db), () => void signInWithToken(db, 'secret').catch(() => {})]) {
    FakeSocket.all.length = 0
    signInWithToken(db, () => new Promise(() => {})).catch(() => {})
    goOnline(db)
    await tick()
    expect(connectionState(db)).toBe('connecting')
    expect(FakeSocket.all).toEqual([])
    other()
    await tick()
    expect(FakeSocket.all).toHaveLength(1)
    FakeSocket.last.greet()
    goOffline(db)
  }
})

test('an expired token is replaced', async () => {
  const tokens = ['a.eyJpYXQiOjF9.c', 'secret']
  const asked: boolean[] = []
  signInWithToken(db, refresh => {
    asked.push(refresh)
    return tokens[refresh ? 1 : 0]!
  }).catch(() => {})
  await tick()
  FakeSocket.last.greet()
  expect(FakeSocket.last.sent[0].d).toMatchObject({ a: 'auth', b: { cred: tokens[0] } })
  FakeSocket.last.push('ac', { s: 'expired_token', d: 'Auth token is expired.' })
  await tick(1000)
  FakeSocket.last.greet()
  expect(FakeSocket.last.sent[0].d).toMatchObject({ a: 'gauth', b: { cred: tokens[1] } })
  expect(asked).toEqual([false, true])
})

test('a provider is asked once for each connection', async () => {
  let asked = 0
  const provider = () => `token ${++asked}`
  const signedIn = signInWithToken(db, provider)
  await tick()
  FakeSocket.last.onclose() // before the server has heard of the token
  await tick(1000)
  FakeSocket.last.greet()
  FakeSocket.last.answer(1)
  await signedIn
  expect(FakeSocket.last.requests('gauth')[0].b.cred).toBe('token 1')
  expect(asked).toBe(1)

  FakeSocket.last.onclose()
  await tick(1000)
  FakeSocket.last.greet()
  expect(FakeSocket.last.requests('gauth')[0].b.cred).toBe('token 2')

  // Of a connection that is there already, too.
  const again = signInWithToken(db, provider)
  await tick()
  const [, request] = FakeSocket.last.requests('gauth')
  FakeSocket.last.answer(request.r)
  await again
  expect(request.b.cred).toBe('token 3')
  expect(asked).toBe(3)
})

test('the last sign-in counts, however slow the provider before was', async () => {
  let answer = (_: string) => {}
  const slow = new Promise<string>(resolve => {
    answer = resolve
  })
  const first = signInWithToken(db, () => slow)
  goOnline(db)
  await tick()
  const second = signInWithToken(db, 'second')
  await tick()
  answer('first')
  await expect(first).rejects.toMatchObject({ code: 'REPLACED' })
  FakeSocket.last.greet()
  expect(FakeSocket.last.requests('gauth').map(({ b }) => b.cred)).toEqual(['second'])
  const third = signInWithToken(db, 'third')
  await expect(second).rejects.toMatchObject({ code: 'REPLACED' })
  await tick()
  FakeSocket.last.answer(FakeSocket.last.requests('gauth')[1].r)
  await third
})

test('signing out while a provider is asked is final', async () => {
  await connected()
  const result = signInWithToken(db, async () => 'late')
  signOut(db)
  await expect(result).rejects.toMatchObject({ code: 'REPLACED' })
  expect(FakeSocket.last.requests('gauth')).toEqual([])
})

test('a refused token is an error', async () => {
  const result = signInWithToken(db, 'bad').catch((error: unknown) => error)
  await tick()
  FakeSocket.last.greet()
  FakeSocket.last.answer(1, 'invalid_token', 'Could not parse auth token.')
  expect(await result).toMatchObject({ code: 'INVALID_TOKEN' })
})
