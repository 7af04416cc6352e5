// A token that the server refuses: nothing hangs in silence, and no write is made twice.

import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  connectionState,
  type Database,
  deleteDatabase,
  get,
  getDatabase,
  goOnline,
  increment,
  onDisconnect,
  onValue,
  ref,
  runTransaction,
  set,
  signInWithToken,
  signOut,
  update
} from '../../src/index.js'
import { FakeSocket } from '../support/fake-server.js'
import { closePlayed, openPlayed } from '../support/played.js'
import { freshNamespace, Server } from '../support/server.js'

const PARSE = 'Could not parse auth token.'
const EXPIRED = { s: 'expired_token', d: 'Auth token is expired.' }
const ignore = () => {}

describe('at a server played by the test', () => {
  let db: Database
  let warned: string[]

  beforeEach(() => {
    db = openPlayed()
    warned = []
    vi.spyOn(console, 'warn').mockImplementation(text => void warned.push(text))
  })

  afterEach(() => closePlayed(db))

  const tick = (ms = 0) => vi.advanceTimersByTimeAsync(ms)
  const actions = () => FakeSocket.last.sent.map(({ d }) => d.a)

  /** Answers the last request of a kind. */
  const answer = (action: string, s = 'ok', d: unknown = '') =>
    FakeSocket.last.answer(FakeSocket.last.requests(action).at(-1).r, s, d)

  /** Everything that can wait for the server. */
  const use = () => [
    new Promise((_, reject) => onValue(ref(db, 'a'), ignore, reject)),
    get(ref(db, 'b')),
    set(ref(db, 'c'), 1),
    update(ref(db, 'c'), { n: increment(1) }),
    onDisconnect(ref(db, 'd')).set(2),
    runTransaction(ref(db, 'e'), () => 1)
  ]

  async function fails(calls: Promise<unknown>[], code: string): Promise<void> {
    const results = Promise.allSettled(calls)
    await tick(1000)
    const wanted = { status: 'rejected', reason: expect.objectContaining({ code }) }
    expect(await results).toEqual(calls.map(() => wanted))
  }

  test('listens are sent behind a token, writes and reads when it is accepted', async () => {
    signInWithToken(db, 'secret').catch(ignore)
    for (const call of use()) call.catch(ignore)
    await tick()
    FakeSocket.last.greet()
    expect(actions()).toEqual(['gauth', 'q', 'q'])
    await tick(20_000)
    expect(actions()).toEqual(['gauth', 'q', 'q'])
    answer('gauth')
    expect(actions().slice(3).sort()).toEqual(['g', 'm', 'o', 'p', 'p'])
  })

  test('a write made while a later token is checked waits, too', async () => {
    goOnline(db)
    await tick()
    FakeSocket.last.greet()
    signInWithToken(db, 'secret').catch(ignore)
    await tick()
    set(ref(db, 'a'), 1).catch(ignore)
    expect(actions()).toEqual(['gauth'])
    answer('gauth')
    expect(actions()).toEqual(['gauth', 'p'])
    signInWithToken(db, 'another').catch(ignore)
    await tick()
    set(ref(db, 'a'), 2).catch(ignore)
    signOut(db)
    expect(actions()).toEqual(['gauth', 'p', 'gauth', 'unauth', 'p'])
  })

  test('a token that stays the same is refused once, and what waits fails', async () => {
    const states: string[] = []
    const signedIn = signInWithToken(db, 'bogus')
    const waiting = [...use(), signedIn]
    await tick()
    FakeSocket.last.greet()
    answer('gauth', 'invalid_token', PARSE)
    await fails(waiting, 'INVALID_TOKEN')
    states.push(connectionState(db))
    await fails(use(), 'INVALID_TOKEN')
    await tick(600_000)
    expect(FakeSocket.all).toHaveLength(1)
    expect(actions()).toEqual(['gauth', 'q', 'q'])
    expect(states).toEqual(['refused'])
    expect(warned).toEqual([`dogwood: INVALID_TOKEN: the server refuses the token: ${PARSE}`])
  })

  test.each([
    ['another token', () => signInWithToken(db, 'secret'), ['gauth', 'p']],
    ['signing out', () => signOut(db), ['p']],
    ['another attempt', () => goOnline(db), ['gauth', 'p']]
  ])('%s ends a refusal', async (_, mend, sent) => {
    const refused = signInWithToken(db, 'bogus')
    await tick()
    FakeSocket.last.greet()
    answer('gauth', 'invalid_token', PARSE)
    await fails([refused], 'INVALID_TOKEN')
    const signedIn = mend()
    await tick()
    const written = set(ref(db, 'a'), 1)
    await tick(2000)
    expect(FakeSocket.all).toHaveLength(2)
    FakeSocket.last.greet()
    if (sent.length > 1) answer('gauth')
    expect(actions()).toEqual(sent)
    answer('p')
    await Promise.all([written, signedIn])
  })

  test('a write that was sent before a refusal is not sent again', async () => {
    goOnline(db)
    await tick()
    FakeSocket.last.greet()
    const written = update(ref(db, 'a'), { n: increment(1) })
    const denied = set(ref(db, 'b'), 1)
    signInWithToken(db, refresh => (refresh ? 'secret' : 'stale')).catch(ignore)
    await tick()
    const [first] = FakeSocket.all
    answer('gauth', 'invalid_token', PARSE)
    await tick(10_000)
    expect(first!.closed).toBe(false)
    answer('m')
    await written
    answer('p', 'permission_denied', 'Permission denied')
    expect(first!.closed).toBe(true)
    await tick(1000)
    FakeSocket.last.greet()
    answer('gauth')
    expect(actions()).toEqual(['gauth', 'p'])
    answer('p')
    await denied
  })

  test('a token that is revoked and stays the same ends what waits', async () => {
    const signedIn = signInWithToken(db, 'secret')
    await tick()
    FakeSocket.last.greet()
    answer('gauth')
    await signedIn
    await tick(20_000)
    const heard = new Promise((_, reject) => onValue(ref(db, 'a'), ignore, reject))
    const written = set(ref(db, 'b'), 1)
    FakeSocket.last.push('ac', EXPIRED)
    FakeSocket.last.push('c', { p: 'a', s: 'permission_denied' }) // as the client is signed out
    answer('p', 'permission_denied', 'Permission denied')
    await fails([heard, written], 'EXPIRED_TOKEN')
    await tick(600_000)
    expect(FakeSocket.all).toHaveLength(1)
    expect(warned).toHaveLength(1)
  })

  test('fresh tokens that are refused are tried a few times', async () => {
    let n = 0
    const signedIn = signInWithToken(db, () => `token ${++n}`).catch(ignore)
    const waiting = use()
    for (const call of waiting) call.catch(ignore)
    const tried: number[] = []
    const began = Date.now()
    for (let t = 0; t < 300_000; t += 500) {
      if (FakeSocket.all.length > tried.length) {
        tried.push(Date.now() - began)
        FakeSocket.last.greet()
        answer('gauth', 'expired_token', EXPIRED.d)
      }
      set(ref(db, 'a'), t).catch(ignore) // does not hurry it
      await tick(500)
    }
    await fails(waiting, 'EXPIRED_TOKEN')
    await signedIn
    expect(tried).toHaveLength(4)
    expect(tried[2]).toBeLessThan(5000)
    expect(tried[3]! - tried[2]!).toBeGreaterThanOrEqual(30_000)
    expect(FakeSocket.all.flatMap(({ sent }) => sent.map(({ d }) => d.a))).not.toContain('p')
    expect(warned).toHaveLength(2)
  })

  test('tokens that end as soon as they are accepted are not tried without a pause', async () => {
    let n = 0
    signInWithToken(db, () => `token ${++n}`).catch(ignore)
    let tried = 0
    for (let t = 0; t < 25_000; t += 100) {
      if (FakeSocket.all.length > tried) {
        tried++
        FakeSocket.last.greet()
        answer('gauth')
        FakeSocket.last.push('ac', EXPIRED)
      }
      await tick(100)
    }
    expect(tried).toBe(3)
  })

  test('a fresh token is asked for until there is one', async () => {
    const asked: boolean[] = []
    signInWithToken(db, refresh => {
      asked.push(refresh)
      if (asked.length === 2) throw new Error('no network')
      return refresh ? 'fresh' : 'stale'
    }).catch(ignore)
    await tick()
    FakeSocket.last.greet()
    answer('gauth', 'expired_token', EXPIRED.d)
    await tick(5000)
    expect(asked).toEqual([false, true, true])
    FakeSocket.last.greet()
    expect(FakeSocket.last.requests('gauth')).toMatchObject([{ b: { cred: 'fresh' } }])
  })
})

test('a refused token writes nothing to public data, in the name of nobody', async () => {
  vi.spyOn(console, 'warn').mockImplementation(ignore)
  const server = await new Server().start()
  onTestFinished(() => server.stop())
  const ns = freshNamespace()
  const db = getDatabase(server.url(ns))
  onTestFinished(() => deleteDatabase(db))
  const refused = { code: 'INVALID_TOKEN' }
  const signedIn = signInWithToken(db, 'bogus.token.here')
  const written = update(ref(db, 'pub'), { n: increment(1) })
  await Promise.all([
    expect(signedIn).rejects.toMatchObject(refused),
    expect(written).rejects.toMatchObject(refused),
    expect(get(ref(db, 'pub'))).rejects.toMatchObject(refused)
  ])
  expect(await server.rest(ns, 'GET', '/pub')).toBe(null)
  signOut(db)
  await update(ref(db, 'pub'), { n: increment(1) })
  expect(await server.rest(ns, 'GET', '/pub')).toEqual({ n: 1 })
})
