// Whatever is wrong, the client says so.

import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { inspect } from 'node:util'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  connectDatabaseEmulator,
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
  orderByChild,
  query,
  ref,
  refFromURL,
  runTransaction,
  set,
  signInWithToken
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

  test.each(['http://localhost', 'localhost:9000', 'localhost/', ''])('"%s" is no host', host => {
    const db = getDatabase('http://localhost:9000')
    onTestFinished(() => deleteDatabase(db))
    expect(() => connectDatabaseEmulator(db, host, 9000)).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        message: `"${host}" is no host; give one as localhost, and the port after it`
      })
    )
  })

  test.each(['localhost', '127.0.0.1', '[::1]', 'db.example.org'])('%s is one', host => {
    const db = getDatabase('http://localhost:9000')
    onTestFinished(() => deleteDatabase(db))
    connectDatabaseEmulator(db, host, 9000)
    expect(`${ref(db)}`).toBe(`http://${host}:9000/`)
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

  test('a denied listener without a callback for that is in the console, once', async () => {
    const place = ref(db, 'a')
    onValue(place, () => {})
    onValue(place, () => {})
    const heard = new Promise(resolve => onValue(ref(db, 'b'), () => {}, resolve))
    await tick()
    const socket = FakeSocket.last
    socket.greet()
    await tick()
    socket.answer(1, 'permission_denied', 'Permission denied')
    socket.answer(2, 'permission_denied', 'Permission denied')
    expect(await heard).toMatchObject({ code: 'PERMISSION_DENIED' })
    expect(warned).toEqual(['dogwood: a listener has ended: permission_denied at /a: Permission denied'])
  })

  test('a query without an index is warned of once', async () => {
    const list = query(ref(db, 'users'), orderByChild('age'), limitToLast(1))
    onValue(list, () => {})
    await tick()
    FakeSocket.last.greet()
    await tick()
    FakeSocket.last.answer(1, 'ok', { w: ['no_index'] } as any)
    const words =
      'dogwood: a query at /users has no index, so the server reads every child; add ".indexOn": "age" there to the rules'
    expect(warned).toEqual([words])
    onValue(query(ref(db, 'users'), orderByChild('age'), limitToLast(2)), () => {})
    await tick()
    FakeSocket.last.answer(2, 'ok', { w: ['no_index'] } as any)
    onValue(ref(db, 'rooms'), () => {})
    await tick()
    FakeSocket.last.answer(3, 'ok', {} as any)
    expect(warned).toEqual([words])
  })

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
    FakeSocket.last.answer(FakeSocket.last.requests('gauth')[0].r)
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
      [
        'of a server without TLS',
        () =>
          Promise.reject(
            Object.assign(new TypeError('fetch failed'), {
              cause: new Error('error:0A00010B:SSL routines:ssl3_get_record:wrong version number:')
            })
          ),
        'it does not speak TLS; use http://'
      ],
      [
        'of a server with TLS',
        async () => new Response('Client sent an HTTP request to an HTTPS server.\n', { status: 400 }),
        'it speaks TLS; use https://'
      ],
      [
        'of a proxy with TLS',
        async () => new Response('<h1>The plain HTTP request was sent to HTTPS port</h1>', { status: 400 }),
        'it speaks TLS; use https://'
      ],
      ['of another bad request', async () => new Response('no', { status: 400 }), '(400)'],
      ['of a silent host', () => new Promise(() => {}), 'it does not answer'],
      ['through a proxy', async () => ({ status: 426 }), 'proxy that does not pass upgrades'],
      ['through a broken proxy', async () => ({ status: 502 }), '(502)']
    ]

    test.each(answers)('there is one warning: %s', async (_, answer, cause) => {
      const fetched = vi.fn(answer)
      vi.stubGlobal('fetch', fetched)
      goOnline(db)
      await tick(4_900)
      expect(warned).toEqual([])
      await tick(100)
      expect(warned).toHaveLength(1)
      for (let t = 0; t < 60_000; t += 100) {
        FakeSocket.last.onerror?.({})
        await tick(100)
      }
      expect(warned).toEqual([expect.stringContaining('no connection to http://localhost:9000 yet: ')])
      expect(warned[0]).toContain(cause)
      expect(fetched).toHaveBeenCalledTimes(1)
    })

    test('there is none after a connection, nor when none is wanted', async () => {
      vi.stubGlobal('fetch', () => new Promise(() => {}))
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

    test.each([
      ['while the cause is looked for', 500, () => FakeSocket.last.greet()],
      ['nor when none is wanted any more', 500, () => goOffline(db)]
    ])('there is none after a connection %s', async (_, wait, end) => {
      vi.stubGlobal('fetch', () => new Promise(() => {}))
      goOnline(db)
      await tick(4_000 + wait)
      end()
      await tick(10_000)
      expect(warned).toEqual([])
    })

    test.each([
      [
        'the token',
        { token: () => Promise.reject(new Error('no session')) },
        'there is no token: Error: no session'
      ],
      [
        'the token at once',
        {
          token: () => {
            throw new Error('no session')
          }
        },
        'there is no token: Error: no session'
      ],
      [
        'the WebSocket',
        {
          WebSocket: class {
            constructor() {
              throw new TypeError('no sockets here')
            }
          } as never
        },
        'there is no socket: TypeError: no sockets here'
      ]
    ])('what throws is told: %s', async (_, options, cause) => {
      vi.stubGlobal('fetch', async () => ({ status: 426 }))
      const other = getDatabase({
        databaseURL: 'http://localhost:9000?ns=throws',
        WebSocket: FakeSocket,
        ...options
      })
      onTestFinished(() => deleteDatabase(other))
      goOnline(other)
      await tick(6_000)
      expect(warned).toEqual([`dogwood: no connection to http://localhost:9000 yet: ${cause}`])
    })

    test('the token may be what is missing', async () => {
      vi.stubGlobal('fetch', async () => ({ status: 426 }))
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

test.each([
  ['http://localhost:9000/a/b%20c?ns=x', "a database URL has no path; use ref(db, '/a/b c')"],
  ['https://shop.example.org/a', "a database URL has no path; use ref(db, '/a')"],
  ['http://localhost:9000?NS=x', 'write ?ns= in lower case; it names the database'],
  ['localhost:9000', 'did you mean http://localhost:9000?'],
  ['http://localhost:99999?ns=x', 'http://localhost:99999?ns=x: not a URL; is the host or the port wrong?']
])('no database is at %s', (url, message) => {
  const error = { code: 'INVALID_ARGUMENT', message: expect.stringContaining(message) }
  expect(() => getDatabase({ databaseURL: url })).toThrow(expect.objectContaining(error))
})

test('what is no URL, or no path, is named', () => {
  const error = (message: string) => expect.objectContaining({ code: 'INVALID_ARGUMENT', message })
  expect(() => getDatabase('')).toThrow(error('the database URL is empty'))
  const db = getDatabase('http://localhost:9000?ns=paths')
  onTestFinished(() => deleteDatabase(db))
  expect(() => ref(db, 5 as never)).toThrow(error('a path is a string, not of type number'))
})

test.each([
  ['ws://localhost:9000/?ns=x', { host: 'localhost:9000', secure: false, namespace: 'x' }],
  ['wss://shop.example.org', { host: 'shop.example.org', secure: true, namespace: 'shop' }]
])('%s is the address of a database', (url, target) => {
  const db = getDatabase({ databaseURL: url, WebSocket: FakeSocket })
  onTestFinished(() => deleteDatabase(db))
  expect(db.store).toMatchObject({ target })
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
