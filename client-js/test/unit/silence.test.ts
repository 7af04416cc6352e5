// Whatever is wrong, the client says so.

import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { inspect } from 'node:util'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  connectionState,
  type Database,
  deleteDatabase,
  get,
  getDatabase,
  goOffline,
  goOnline,
  limitToLast,
  onDisconnect,
  onValue,
  query,
  ref,
  refFromURL,
  runTransaction,
  set,
  signInWithToken,
  update
} from '../../src/index.js'
import * as rest from '../../src/rest.js'
import { Wilddog } from '../../src/wilddog.js'
import { FakeSocket } from '../support/fake-server.js'

const NO_INSTANCE =
  'Firebase error. Please ensure that you have the URL of your Firebase Realtime Database instance configured correctly.'

describe('an address that is none', () => {
  test.each([
    ['localhost:9000', 'http://localhost:9000'],
    ['localhost:9000?ns=demo', 'http://localhost:9000?ns=demo'],
    ['127.0.0.1:9000', 'http://127.0.0.1:9000'],
    ['shop.example.org', 'https://shop.example.org'],
    ['ftp://shop.example.org/a', 'https://shop.example.org/a']
  ])('%s is an error with a hint', (address, meant) => {
    const hint = expect.objectContaining({
      code: 'INVALID_ARGUMENT',
      message: `${address}: a database URL begins with http:// or https://; did you mean ${meant}?`
    })
    expect(() => getDatabase(address)).toThrow(hint)
    expect(() => getDatabase({ databaseURL: address })).toThrow(hint)
    expect(() => rest.getDatabase(address)).toThrow(hint)
    expect(() => new Wilddog(address)).toThrow(hint)
    const db = getDatabase('http://localhost:9000')
    expect(() => refFromURL(db, address)).toThrow(hint)
    deleteDatabase(db)
  })
})

describe('over a connection', () => {
  let db: Database
  let warned: string[]

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] })
    warned = []
    vi.spyOn(console, 'warn').mockImplementation(text => void warned.push(text))
    FakeSocket.all.length = 0
    db = getDatabase({ databaseURL: 'http://localhost:9000?ns=shop', WebSocket: FakeSocket })
  })

  afterEach(() => {
    deleteDatabase(db)
    vi.useRealTimers()
    vi.restoreAllMocks()
    vi.unstubAllGlobals()
  })

  const tick = (ms = 0) => vi.advanceTimersByTimeAsync(ms)
  const away = (d: string) => FakeSocket.last.receive({ t: 'c', d: { t: 's', d } })

  test('a database that is not there fails all that waits, and what comes', async () => {
    const place = ref(db, 'a')
    const use = () => [
      new Promise((_, reject) => onValue(place, () => {}, reject)),
      get(ref(db, 'b')),
      set(place, 1),
      onDisconnect(place).set(2),
      runTransaction(ref(db, 'c'), () => 1),
      signInWithToken(db, 'token')
    ]
    const wanted = { code: 'NO_DATABASE', message: expect.stringContaining('is there a database "shop" on') }
    const settle = async (calls: Promise<unknown>[]) => {
      const results = Promise.allSettled(calls)
      await tick(100)
      return results
    }
    const waiting = use()
    const first = settle(waiting)
    await tick()
    away(NO_INSTANCE)
    expect(await first).toEqual(
      waiting.map(() => ({ status: 'rejected', reason: expect.objectContaining(wanted) }))
    )
    expect(connectionState(db)).toBe('refused')
    expect(warned).toEqual([expect.stringContaining('NO_DATABASE')])
    const later = use()
    expect(await settle(later)).toEqual(
      later.map(() => ({ status: 'rejected', reason: expect.objectContaining(wanted) }))
    )
    await tick(600_000)
    expect(FakeSocket.all).toHaveLength(1)

    goOnline(db) // it may be there now
    const written = set(place, 3)
    await tick()
    FakeSocket.last.greet()
    FakeSocket.last.answer(FakeSocket.last.requests('p')[0].r)
    await written
  })

  test('any other reason to be sent away is told, too', async () => {
    const read = get(ref(db, 'a')).catch((error: unknown) => error)
    await tick()
    away('The database has been deactivated.')
    expect(await read).toMatchObject({
      code: 'REFUSED',
      message: 'REFUSED: The database has been deactivated.'
    })
  })

  describe('that does not come about', () => {
    const answers: [string, () => Promise<unknown>, string][] = [
      [
        'refused',
        () =>
          Promise.reject(
            Object.assign(new TypeError('fetch failed'), { cause: new Error('connect ECONNREFUSED') })
          ),
        'connect ECONNREFUSED'
      ],
      [
        'of a browser that does not tell',
        () => Promise.reject(new TypeError('Failed to fetch')),
        'Failed to fetch'
      ],
      ['through a proxy', async () => ({ status: 426 }), 'proxy that does not pass upgrades'],
      ['through a broken proxy', async () => ({ status: 502 }), '(502)']
    ]

    test.each(answers)('there is one warning: %s', async (_, answer, cause) => {
      const fetched = vi.fn(answer)
      vi.stubGlobal('fetch', fetched)
      goOnline(db)
      await tick(4_900)
      expect(warned).toEqual([])
      for (let t = 0; t < 60_000; t += 100) {
        FakeSocket.last.onerror?.({})
        await tick(100)
      }
      expect(warned).toEqual([expect.stringContaining('no connection to http://localhost:9000 yet: ')])
      expect(warned[0]).toContain(cause)
      expect(fetched).toHaveBeenCalledTimes(1)
    })

    test('there is none after a connection, nor when none is wanted', async () => {
      goOnline(db)
      await tick(4_000)
      goOffline(db)
      await tick(10_000)
      goOnline(db)
      await tick(1_000)
      FakeSocket.last.greet()
      FakeSocket.last.onclose()
      await tick(20_000)
      expect(warned).toEqual([])
    })

    test('the token may be what is missing', async () => {
      signInWithToken(db, () => new Promise(() => {})).catch(() => {})
      goOnline(db)
      await tick(6_000)
      expect(warned).toEqual([expect.stringContaining('the token is not there')])
    })
  })

  test.each([0, 0.5, 0.999])('waits are bounded by the length of the outage, random %d', async random => {
    vi.spyOn(Math, 'random').mockReturnValue(random)
    goOnline(db)
    await tick()
    FakeSocket.last.greet()
    await tick(20_000)
    expect(connectionState(db)).toBe('connected')
    const lost = Date.now()
    FakeSocket.last.onclose()
    let waits = 0
    while (Date.now() - lost < 300_000) {
      const since = Date.now()
      const before = FakeSocket.all.length
      while (FakeSocket.all.length === before) await tick(10)
      const wait = Date.now() - since
      expect(wait).toBeLessThanOrEqual(Math.min(30_000, (since - lost) / 2 + 500) + 20)
      expect(wait).toBeGreaterThanOrEqual(200)
      waits++
      FakeSocket.last.onerror({})
    }
    expect(waits).toBeLessThan(45)
  })

  test('a network that comes back ends the wait', async () => {
    const listeners = new Map<string, () => void>()
    vi.stubGlobal('addEventListener', (type: string, f: () => void) => listeners.set(type, f))
    const other = getDatabase({ databaseURL: 'http://localhost:9000?ns=other', WebSocket: FakeSocket })
    onTestFinished(() => deleteDatabase(other))
    goOnline(other)
    for (let t = 0; t < 200_000; t += 100) {
      FakeSocket.last?.onerror?.({})
      await tick(100)
    }
    listeners.get('online')!()
    const before = FakeSocket.all.length
    await tick(2_000)
    expect(FakeSocket.all.length).toBe(before + 1)
    FakeSocket.last.onerror({})
    await tick(1_500) // as after a short outage
    expect(FakeSocket.all.length).toBeGreaterThan(before + 1)
  })
})

test('over HTTP, a database that is not there is named', async () => {
  const server: Server = createServer((_, answer) => answer.writeHead(404).end('{"error":"404 Not Found"}'))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const db = rest.getDatabase(`http://127.0.0.1:${port}?ns=shop`)
  await expect(rest.get(rest.ref(db, 'a'))).rejects.toMatchObject({
    code: 'NO_DATABASE',
    message: expect.stringContaining('"shop"')
  })
})

test.each([new Date(0), new Map([['a', 1]]), new Set([1])])('%o is no value', async value => {
  const db = getDatabase({ databaseURL: 'http://localhost:9000?ns=values', WebSocket: FakeSocket })
  onTestFinished(() => deleteDatabase(db))
  const hint = expect.objectContaining({
    code: 'INVALID_ARGUMENT',
    message: expect.stringMatching(
      value instanceof Date ? /date\.getTime\(\) or serverTimestamp/ : /use a plain object/
    )
  })
  expect(() => set(ref(db, 'a'), { b: [value] })).toThrow(hint)
  expect(() => update(ref(db, 'a'), { b: value })).toThrow(hint)
  const plain = rest.getDatabase('http://127.0.0.1:1?ns=values')
  await expect(rest.set(rest.ref(plain, 'a'), { b: value })).rejects.toEqual(hint)
  if (!(value instanceof Date)) expect(() => update(ref(db, 'a'), value)).toThrow(/plain object/)
})

test('the console shows the address of a reference', () => {
  const db = getDatabase({ databaseURL: 'http://localhost:9000?ns=shown', WebSocket: FakeSocket })
  onTestFinished(() => deleteDatabase(db))
  const place = ref(db, 'a/b c')
  expect(inspect(place)).toBe('http://localhost:9000/a/b%20c')
  expect(inspect(query(place, limitToLast(1)))).toBe('http://localhost:9000/a/b%20c')
  expect(`${place} ${JSON.stringify(place)}`).toBe(
    'http://localhost:9000/a/b%20c "http://localhost:9000/a/b%20c"'
  )
})
