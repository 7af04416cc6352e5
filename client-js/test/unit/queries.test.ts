// Filters, changes without a view, notices, pages of children and readable children, at the real server.

import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import * as live from '../../src/index.js'
import * as rest from '../../src/rest.js'
import { FakeSocket } from '../support/fake-server.js'
import { freshNamespace, Server } from '../support/server.js'

let server: Server
const ns = freshNamespace()
const unsupported = { code: 'UNSUPPORTED' }

beforeAll(async () => {
  server = await new Server().start()
  await server.rest(ns, 'PUT', '/.settings/rules', {
    rules: {
      list: { '.read': "root.child('shut').val() == null", '.write': true, '.indexOn': '.value' },
      rooms: { $room: { '.read': "data.child('public').val() === true" } },
      closed: { '.read': false }
    }
  })
}, 120_000)
afterAll(() => server?.stop())
beforeEach(async () => {
  await server.rest(ns, 'PUT', '/', { list: { a: 1, b: 7, c: 9 } })
})

const keysOf = (snapshot: { forEach(f: (child: any) => void): unknown }) => {
  const keys: string[] = []
  snapshot.forEach(child => void keys.push(child.key))
  return keys.join(' ')
}
const shows = (f: () => string, text: string) => vi.waitFor(() => expect(f()).toBe(text), 60_000)
const put = (path: string, value: unknown) => server.rest(ns, 'PUT', path, value)

for (const [name, api] of Object.entries({ realtime: live, rest: rest as unknown as typeof live })) {
  const { get, getAll, getCount, limitToFirst, limitToLast, onChanges, onNotices } = api
  const { onValue, orderByKey, orderByValue } = api
  const { getPage, pages, query, ref, startAt, update, where } = api
  const open = () => api.getDatabase({ databaseURL: server.url(ns) })

  describe(name, () => {
    test('a filter keeps what matches', async () => {
      const db = open()
      const list = ref(db, 'list')
      const big = query(list, where('data.val() > 5'))
      expect(keysOf(await get(big))).toBe('b c')
      expect(await getCount(big)).toBe(2)
      expect(keysOf(await get(query(big, orderByKey(), limitToLast(1))))).toBe('c')
      expect(await api.explain(big)).toMatchObject({ results: 2 })
      const { results } = await getAll(db, [big, query(list, where("key == 'a'", 500)), list])
      expect(results.map(({ snapshot }: any) => keysOf(snapshot))).toEqual(['b c', 'a', 'a b c'])
      await expect(get(query(list, where('data.x')))).rejects.toThrow(/INVALID_PARAMETERS.*6/)
      await expect(get(query(ref(db, 'closed'), where('true')))).rejects.toThrow('PERMISSION_DENIED')
    })

    test('a view with a filter is as the server says', async () => {
      const db = open()
      const list = ref(db, 'list')
      let seen = ''
      let all = ''
      const stops = [
        onValue(list, s => void (all = keysOf(s))),
        onValue(query(list, where('data.val() > 5')), s => void (seen = keysOf(s)))
      ]
      await shows(() => seen, 'b c')
      await shows(() => all, 'a b c')
      const done = update(list, { a: 8, b: 1, d: 2 })
      expect(seen).toBe('b c') // not before the server says so
      await done
      await shows(() => seen, 'a c')
      await shows(() => all, 'a b c d')
      await put('/list/d', 6)
      await shows(() => seen, 'a c d')
      await put('/list/c', null)
      await shows(() => seen, 'a d')
      for (const stop of stops) stop()
    })

    test('a view that is read again keeps its filter, with any other listener', async () => {
      const list = ref(open(), 'list')
      let seen = ''
      const stop = onValue(list, s => void (seen = keysOf(s)))
      await put('/list', { a: 3, b: 7 })
      await shows(() => seen, 'a b')
      const big = query(list, where('data.val() > 5'))
      const have = await get(big)
      expect(await api.refresh(big, have)).toEqual({ snapshot: have, changed: false })
      await put('/list/c', 9)
      await shows(() => seen, 'a b c')
      expect(keysOf((await api.refresh(big, have)).snapshot)).toBe('b c')
      stop()
    })

    test('changes come without a view', async () => {
      const list = ref(open(), 'list')
      const seen: string[] = []
      const stop = await onChanges(
        list,
        s => void seen.push(`${s.ref.toString().replace(/.*\/list/, '')} ${JSON.stringify(s.val())}`)
      )
      const some: unknown[] = []
      const stopToo = await onChanges(query(list, where('data.val() > 50')), s => void some.push(s.val()))
      const other = onValue(list, () => {}) // a listen at the same place is another matter
      await update(list, { a: 2, 'd/x': 99 })
      await put('/list/a', null)
      await put('/list/e', 51)
      await shows(() => seen.join(', '), '/a 2, /d/x 99, /a null, /e 51')
      await shows(() => some.join(), '51')
      stop()
      stopToo()
      other()
      await put('/list/e', 52)
      expect(await get(ref(open(), 'list/e')).then(s => s.val())).toBe(52)
      expect(seen.length + some.length).toBe(5)
    })

    test('changes end with a denial', async () => {
      const db = open()
      await expect(onChanges(ref(db, 'closed'), () => {})).rejects.toMatchObject({
        code: 'PERMISSION_DENIED'
      })
      let ended = ''
      await onChanges(
        ref(db, 'list'),
        () => {},
        error => void (ended = (error as any).code)
      )
      await put('/shut', true)
      await shows(() => ended, 'PERMISSION_DENIED')
    })

    test('notices name the children that change', async () => {
      const db = open()
      const list = ref(db, 'list')
      const all: live.Notice[] = []
      const stop = await onNotices(list, notice => void all.push(notice))
      const big = new Set<string>()
      const stopToo = await onNotices(query(list, where('data.val() > 50')), notice => {
        for (const key of notice.children) big.add(key)
      })
      const changes: unknown[] = []
      const stopLast = await onChanges(list, s => void changes.push(s.ref.key)) // another matter
      const told = () => [...new Set(all.flatMap(({ children }) => children))].join()
      await update(list, { b: 2, 'd/x': 99 })
      await put('/list/a', null)
      await put('/list/e', 51)
      await shows(told, 'b,d,a,e')
      await shows(() => [...big].join(), 'e')
      await shows(() => changes.join(), 'b,x,a,e')
      expect(all.map(({ all }) => all)).not.toContain(true)
      const revisions = all.map(({ revision }) => revision)
      expect(revisions).toEqual([...revisions].sort((a, b) => a - b))
      expect((await getPage(list)).revision).toBe(revisions.at(-1))
      await put('/list', 7)
      await vi.waitFor(() => expect(all.at(-1)).toMatchObject({ children: [], all: true }), 60_000)
      for (const end of [stop, stopToo, stopLast]) end()
      const before = all.length
      await put('/list/f', 52)
      await get(ref(open(), 'list/f'))
      expect(all.length).toBe(before)
    })

    test('notices end with a denial', async () => {
      const db = open()
      await expect(onNotices(ref(db, 'closed'), () => {})).rejects.toMatchObject({
        code: 'PERMISSION_DENIED'
      })
      await expect(onNotices(query(ref(db, 'list'), where('data.x')), () => {})).rejects.toMatchObject({
        code: 'INVALID_PARAMETERS'
      })
      expect(() => onNotices(ref(db, 'list'), 7 as any)).toThrow('callback')
      let ended = ''
      const seen: string[] = []
      await onNotices(
        ref(db, 'list'),
        ({ children }) => void seen.push(...children),
        error => void (ended = (error as any).code)
      )
      await put('/list/a', 5)
      await shows(() => seen.join(), 'a')
      await put('/shut', true)
      await shows(() => ended, 'PERMISSION_DENIED')
    })

    test('pages describe children', async () => {
      const long = 'é'.repeat(130)
      await put('/list', { a: { x: 1, y: 2 }, b: long, c: true, d: { '.value': 7, '.priority': 2 } })
      const list = ref(open(), 'list')
      expect(await getPage(list)).toMatchObject({
        count: 4,
        more: false,
        children: [
          { key: 'a', type: 'object', size: 2 },
          { key: 'b', type: 'string', value: 'é'.repeat(120), bytes: 260 },
          { key: 'c', type: 'boolean', value: true },
          { key: 'd', type: 'number', value: 7, priority: 2 }
        ]
      })
      const first = await getPage(query(list, orderByValue(), limitToLast(2)), { descending: true })
      expect(first.children.map(({ key }) => key)).toEqual(['a', 'b'])
      expect(first.more).toBe(true)
      expect(() => query(list, where(''))).toThrow('where needs an expression')
      await expect(getPage(query(list, limitToFirst(1001)))).rejects.toThrow('at most 1000')
    })

    test('pages go on to the end, and back', async () => {
      const keys = Array.from({ length: 25 }, (_, i) => `k${10 + i}`)
      await put('/list', Object.fromEntries(keys.map((key, i) => [key, i])))
      const list = ref(open(), 'list')
      const all = async (query: live.Query, options?: live.PageOptions) => {
        const found: string[][] = []
        for await (const { children } of pages(query, options)) found.push(children.map(({ key }) => key))
        return found
      }
      expect(await all(list)).toEqual([keys])
      const tens = await all(query(list, limitToFirst(10)))
      expect([tens.flat(), tens.length]).toEqual([keys, 3])
      const back = await all(query(list, orderByKey(), startAt('k12'), limitToFirst(10)), {
        descending: true
      })
      expect([back.flat(), back.length]).toEqual([keys.slice(2).reverse(), 3])
      await expect(all(query(list, orderByValue()))).rejects.toThrow('pages go by key')
    })
  })
}

test('changes that may have been missed come as the whole view', async () => {
  const db = live.getDatabase({ databaseURL: server.url(ns) })
  const seen: string[] = []
  await live.onChanges(live.ref(db, 'list'), s => void seen.push(JSON.stringify(s.val())))
  live.goOffline(db)
  await put('/list/a', 5)
  live.goOnline(db)
  await shows(() => seen.join(), '{"a":5,"b":7,"c":9}')
  await put('/list/a', 6)
  await shows(() => seen.at(-1)!, '6')
  live.deleteDatabase(db)
})

test('readable children, where the location may not be read', async () => {
  const rooms: Record<string, unknown> = {}
  const open: string[] = []
  for (let i = 100; i < 700; i++) {
    rooms[`r${i}`] = { public: i % 2 === 0 }
    if (i % 2 === 0) open.push(`r${i}`)
  }
  await put('/rooms', rooms)
  const list = rest.ref(rest.getDatabase({ databaseURL: server.url(ns) }), 'rooms')
  await expect(rest.get(list)).rejects.toThrow('PERMISSION_DENIED')
  const keys: string[] = []
  for await (const key of rest.readableKeys(list)) keys.push(key)
  expect(keys).toEqual(open)
  const found: unknown[] = []
  for await (const room of rest.readable(list)) found.push(room.key, room.val())
  expect(found.length).toBe(600)
  expect(found.slice(0, 2)).toEqual(['r100', { public: true }])
})

test('after a lost connection, there is a notice of all', async () => {
  const db = live.getDatabase({ databaseURL: server.url(ns) })
  const seen: live.Notice[] = []
  await live.onNotices(live.ref(db, 'list'), notice => void seen.push(notice))
  live.goOffline(db)
  await put('/list/a', 5)
  live.goOnline(db)
  await vi.waitFor(
    () => expect(seen).toEqual([{ revision: expect.any(Number), children: [], all: true }]),
    60_000
  )
  await put('/list/b', 6)
  await vi.waitFor(() => expect(seen.at(-1)).toMatchObject({ children: ['b'], all: false }), 60_000)
  live.deleteDatabase(db)
})

describe('a server without the extensions', () => {
  test('is sent nothing over the realtime protocol', async () => {
    FakeSocket.all.length = 0
    const db = live.getDatabase({ databaseURL: 'http://localhost:9000?ns=none', WebSocket: FakeSocket })
    const list = live.ref(db, 'list')
    const filtered = live.query(list, live.where('true'))
    const ended = new Promise((_, reject) => live.onValue(filtered, () => {}, reject))
    const asked = [
      ended,
      live.get(filtered),
      live.getAll(db, [list, filtered]),
      live.getCount(filtered),
      live.explain(filtered),
      live.onChanges(list, () => {}),
      live.onChanges(filtered, () => {}),
      live.onNotices(list, () => {}),
      live.onNotices(filtered, () => {}),
      live.getPage(list),
      live.getPage(filtered)
    ].map(answer => expect(answer).rejects.toMatchObject(unsupported))
    await expect.poll(() => FakeSocket.all.length).toBe(1)
    FakeSocket.last.greet({ f: ['b', 'n', 'x', 'h'] })
    await Promise.all(asked)
    expect(FakeSocket.last.sent).toEqual([])
    live.deleteDatabase(db)
  })

  test('is told from one that has them by a header over HTTP', async () => {
    const fetch = vi.spyOn(globalThis, 'fetch').mockImplementation(async () => new Response('{"a":1}'))
    const db = rest.getDatabase({ databaseURL: server.url(freshNamespace()) })
    const list = rest.ref(db, 'list')
    const filtered = rest.query(list, rest.where('true'))
    const first = async (pages: AsyncGenerator<unknown>) => (await pages.next()).value
    for (const answer of [
      rest.get(filtered),
      rest.getAll(db, [list, filtered]),
      rest.getCount(filtered),
      rest.onChanges(list, () => {}),
      rest.onNotices(list, () => {}),
      new Promise((_, reject) => rest.onValue(filtered, () => {}, reject)),
      rest.getPage(list),
      first(rest.readable(list)),
      first(rest.readableKeys(list))
    ])
      await expect(answer).rejects.toMatchObject(unsupported)
    expect((await rest.get(list)).val()).toEqual({ a: 1 })
    fetch.mockRestore()
  })
})

describe('a write that declared data refuse', () => {
  const space = freshNamespace()
  beforeAll(async () => {
    await server.rest(space, 'PUT', '/.settings/rules', { rules: { '.read': true, '.write': true } })
    await server.rest(space, 'PUT', '/.settings/data', {
      format: 'dogwood-data/1',
      define: {
        logins: {
          map: '/users/$u/login',
          to: '/logins/{data.val().toLowerCase()}',
          value: '= $u',
          unique: true
        },
        posts: { count: '/posts/$u/$p', to: '/stats/$u/posts' }
      }
    })
  })

  for (const [name, { getDatabase, ref, runTransaction, set, update }] of Object.entries({
    realtime: live,
    rest: rest as unknown as typeof live
  }))
    test(`has the name of the definition: ${name}`, async () => {
      const db = getDatabase({ databaseURL: server.url(space) })
      await set(ref(db, 'users/ana/login'), 'Ana')
      const taken = {
        code: 'CONFLICT',
        definition: 'logins',
        message: expect.stringMatching('logins/ana is taken')
      }
      const bo = ref(db, 'users/bo/login')
      await expect(set(bo, 'ANA')).rejects.toMatchObject(taken)
      await expect(update(ref(db), { 'users/bo/login': 'ana' })).rejects.toMatchObject(taken)
      await expect(runTransaction(bo, () => 'ana')).rejects.toMatchObject(taken)
      await expect(set(ref(db, 'stats/ana/posts'), 7)).rejects.toMatchObject({
        code: 'PERMISSION_DENIED',
        definition: 'posts',
        message: expect.stringMatching('kept by the definition "posts"')
      })
    })
})
