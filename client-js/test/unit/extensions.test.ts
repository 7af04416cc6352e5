// What Dogwood has beyond the protocol, at the real server, under rules.

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import * as live from '../../src/index.js'
import * as rest from '../../src/rest.js'
import { FakeSocket } from '../support/fake-server.js'
import { freshNamespace, Server } from '../support/server.js'

let server: Server
const ns = freshNamespace()
const denied = { code: 'PERMISSION_DENIED' }

beforeAll(async () => {
  server = await new Server().start()
  await server.rest(ns, 'PUT', '/', {
    rooms: { a: { type: 'public' }, b: { type: 'private' }, c: { type: 'public' } },
    halls: { a: { type: 'public' }, b: { type: 'private' } },
    groups: {
      a: { owner: 'u1', created: 3 },
      b: { owner: 'u2', created: 1 },
      c: { owner: 'u1', created: 1 },
      d: { owner: 'u1' }
    },
    closed: { a: 1 },
    open: true
  })
  await server.rest(ns, 'PUT', '/.settings/rules', {
    rules: {
      rooms: { '.read': "root.child('open').val() == true", '.indexOn': 'type', $room: { '.write': true } },
      scores: { '.read': true, '.write': true, '.indexOn': '.value' },
      halls: { '.read': true },
      groups: { '.read': true, '.write': true },
      tickets: { '.write': true, last: { '.read': true }, at: { '.read': true } },
      presence: { '.read': true, '.write': true },
      locks: { '.write': true },
      bounded: { '.read': true, '.write': true, '.limit': 1 }
    }
  })
  await server.rest(ns, 'PUT', '/.settings/data', {
    format: 'dogwood-data/1',
    define: { byOwner: { index: '/groups', by: ['owner', 'created'] } }
  })
}, 120_000)
afterAll(() => server?.stop())

for (const [name, api] of Object.entries({ realtime: live, rest: rest as unknown as typeof live })) {
  const { equalTo, explain, explainSet, explainUpdate, get, getCount, increment, limitToFirst } = api
  const { orderByChild, orderByValue, query, ref, refresh, remove, serverTimestamp, set, setPriority } = api
  const { setReturning, updateReturning } = api
  const open = () => api.getDatabase({ databaseURL: server.url(ns) })

  describe(name, () => {
    test('counts', async () => {
      const db = open()
      const rooms = ref(db, 'rooms')
      expect(await getCount(rooms)).toBe(3)
      expect(await getCount(query(rooms, orderByChild('type'), equalTo('public')))).toBe(2)
      expect(await getCount(ref(db, 'presence/nobody'))).toBe(0)
      await expect(getCount(query(rooms, limitToFirst(1)))).rejects.toThrow(/limit/i)
      await expect(getCount(ref(db, 'closed'))).rejects.toMatchObject(denied)
    })

    test('orders by several children', async () => {
      const keys = (snapshot: { forEach(f: (child: any) => void): unknown }) => {
        const list: string[] = []
        snapshot.forEach(child => void list.push(child.key))
        return list.join(' ')
      }
      const groups = ref(open(), 'groups')
      const by = api.orderByChildren('owner', 'created')
      const read = async (...more: any[]) => keys(await get(query(groups, by, ...more)))
      expect(await read()).toBe('d c a b')
      expect(await read(equalTo(['u1']))).toBe('d c a')
      expect(await read(equalTo(['u1']), api.limitToLast(1))).toBe('a')
      expect(await read(api.startAfter(['u1', 1]), api.endAt(['u1']))).toBe('a')
      expect(await read(api.endBefore(['u1', 3]))).toBe('d c')
      expect(await getCount(query(groups, by, equalTo(['u1', null])))).toBe(1)
      const explained = await explain(query(groups, by, equalTo(['u1'])))
      expect(explained.missingIndexOn).toBe(undefined)
      await expect(get(query(groups, api.orderByChildren('created', 'owner')))).rejects.toThrow(
        /Index not defined.*data document/
      )
      await expect(get(query(groups, orderByChild('owner'), equalTo(['u1'])))).rejects.toThrow()
    })

    test('explains reads', async () => {
      const db = open()
      const by = (path: string) => query(ref(db, path), orderByChild('type'), equalTo('public'))
      const found = await explain(by('rooms'))
      expect(found).toMatchObject({ path: '/rooms', results: 2, rules: { allowed: true } })
      expect(found.missingIndexOn).toBe(undefined)
      expect((await explain(by('halls'))).missingIndexOn).toMatchObject({
        path: '/halls',
        indexOn: ['type']
      })
      await expect(explain(by('closed'))).rejects.toMatchObject(denied)
    })

    test('explains writes, and makes none', async () => {
      const db = open()
      const set = await explainSet(ref(db, 'rooms/d'), { type: 'public' })
      expect(set).toMatchObject({ plan: 'write', changes: true })
      const update = await explainUpdate(ref(db, 'rooms/a'), { type: 'public' })
      expect(update).toMatchObject({ plan: 'write', changes: false })
      await expect(explainSet(ref(db, 'closed/a'), 2)).rejects.toMatchObject(denied)
      expect(await server.rest(ns, 'GET', '/rooms/d')).toBe(null)
    })

    test('writes tell what their server values came to', async () => {
      const db = open()
      await server.rest(ns, 'PUT', '/tickets', { last: 6, hidden: 40 })
      expect(await setReturning(ref(db, 'tickets/last'), increment(1))).toEqual({ '': 7 })
      const told = await updateReturning(ref(db, 'tickets'), {
        last: increment(1),
        at: serverTimestamp(),
        '/deep/er/': { a: 1, n: increment(3), list: [0, increment(2)], '.priority': 5 }
      })
      expect(told).toEqual({ last: 8, at: expect.any(Number) }) // sums in deep/er must not be read
      expect(await server.rest(ns, 'GET', '/tickets/deep/er/n')).toBe(3)
      expect(await setReturning(ref(db, 'rooms/a'), { type: 'public' })).toEqual({})
      expect(await updateReturning(ref(db, 'tickets'), {})).toEqual({})
      await expect(setReturning(ref(db, 'closed/a'), increment(1))).rejects.toMatchObject(denied)
      await expect(updateReturning(ref(db, 'closed'), { a: increment(1) })).rejects.toMatchObject(denied)
      await expect((async () => setReturning(ref(db, 'tickets/last'), NaN))()).rejects.toThrow('NaN')
    })

    test('writes the larger or smaller number', async () => {
      const { max, min, update } = api
      const db = open()
      await server.rest(ns, 'PUT', '/tickets', { last: 6, name: 'text' })
      const tickets = () => server.rest(ns, 'GET', '/tickets')
      await update(ref(db, 'tickets'), { last: max(9), name: min(4), never: max(-1) })
      expect(await tickets()).toEqual({ last: 9, name: 4, never: -1 })
      await update(ref(db, 'tickets'), { last: max(8), name: min(5), never: min(-2) })
      expect(await tickets()).toEqual({ last: 9, name: 4, never: -2 })
      expect(await setReturning(ref(db, 'tickets/last'), max(10))).toEqual({ '': 10 })
      for (const n of [NaN, Infinity]) {
        expect(() => max(n)).toThrow('finite')
        expect(() => min(n)).toThrow('finite')
      }
    })

    test('reads again what is another value, and no other', async () => {
      const db = open()
      const scores = ref(db, 'scores')
      await set(scores, { ana: 30, bo: 10, cy: 20, dee: { e: true } })
      await setPriority(ref(db, 'scores/cy'), 7)
      for (const place of [
        scores,
        query(scores, orderByValue(), limitToFirst(2)),
        ref(db, 'scores/ana'),
        ref(db, 'scores/x')
      ]) {
        const first = await get(place)
        const same = await refresh(place, first)
        expect(same).toEqual({ snapshot: first, changed: false })
        expect(same.snapshot).toBe(first)
        await set(ref(db, 'scores/bo'), 11)
        await set(ref(db, 'scores/ana'), { now: place.toString() })
        await set(ref(db, 'scores/x'), place.toString())
        const now = await refresh(place, first)
        expect(now.changed).toBe(true)
        expect(now.snapshot.exportVal()).toEqual((await get(place)).exportVal())
        expect(now.snapshot.exportVal()).not.toEqual(first.exportVal())
        await remove(ref(db, 'scores/x'))
        await set(ref(db, 'scores/bo'), 10)
      }
      const old = await get(scores)
      await remove(scores)
      const gone = await refresh(scores, old)
      expect([gone.changed, gone.snapshot.exists()]).toEqual([true, false])
    })

    test('reads again only under the rules, and what the snapshot is of', async () => {
      const db = open()
      const [rooms, snapshot] = [ref(db, 'rooms'), await get(ref(db, 'rooms'))]
      const other = { code: 'INVALID_ARGUMENT' }
      await expect(refresh(ref(db, 'halls'), snapshot)).rejects.toMatchObject(other)
      await expect(refresh(query(rooms, orderByChild('type')), snapshot)).rejects.toMatchObject(other)
      await server.rest(ns, 'PUT', '/open', false)
      await expect(refresh(rooms, snapshot)).rejects.toMatchObject(denied)
      await server.rest(ns, 'PUT', '/open', true)
      expect((await refresh(rooms, snapshot)).changed).toBe(false)
    })
  })
}

const connect = () => live.getDatabase({ databaseURL: server.url(ns) })

test('sums that may not be read are not told', async () => {
  const { increment, ref, updateReturning } = live
  const db = connect()
  await server.rest(ns, 'PUT', '/tickets', { last: 7, hidden: 40 })
  const told = await updateReturning(ref(db, 'tickets'), { last: increment(1), hidden: increment(1) })
  expect(told).toEqual({ last: 8 })
  expect(await server.rest(ns, 'GET', '/tickets/hidden')).toBe(41)
  expect(await live.set(ref(db, 'tickets/last'), 1)).toBe(undefined)
  live.deleteDatabase(db)
})

test('over HTTP the value is not sent again', async () => {
  const db = rest.getDatabase({ databaseURL: server.url(ns) })
  const rooms = rest.query(rest.ref(db, 'rooms'), rest.limitToFirst(2))
  const snapshot = await rest.get(rooms)
  const fetched = vi.spyOn(globalThis, 'fetch')
  await rest.refresh(rooms, snapshot)
  const response = await fetched.mock.results[0]!.value
  fetched.mockRestore()
  expect(response.status).toBe(304)
})

test('the late end of an old session does not undo what a newer one wrote', async () => {
  const { onDisconnect, onDisconnectIf, ref, set } = live
  const place = (db: live.Database) => ref(db, 'presence/ana')
  const [old, late, newer] = [connect(), connect(), connect()]
  await onDisconnectIf(place(old), 'session', 's1').set({ online: false })
  await set(place(old), { session: 's1', online: true })
  await onDisconnectIf(place(late), 'session', 's1').update({ online: false })
  await onDisconnectIf(place(newer), 'session', 's2').update({ online: false })
  await set(place(newer), { session: 's2', online: true })
  live.deleteDatabase(old)
  live.deleteDatabase(late)
  // Two ends have come and gone when a third, without a condition, is seen.
  const last = connect()
  await onDisconnect(ref(last, 'presence/last')).set(true)
  live.deleteDatabase(last)
  await expect.poll(() => server.rest(ns, 'GET', '/presence/last')).toBe(true)
  expect(await server.rest(ns, 'GET', '/presence/ana')).toEqual({ session: 's2', online: true })
  live.deleteDatabase(newer)
  await expect.poll(() => server.rest(ns, 'GET', '/presence/ana/online')).toBe(false)
})

test('a condition can be about the location itself, and must be readable', async () => {
  const { onDisconnectIf, ref, set } = live
  const db = connect()
  await set(ref(db, 'presence/lock'), 'ana')
  await onDisconnectIf(ref(db, 'presence/lock'), '', 'ana').remove()
  await expect(onDisconnectIf(ref(db, 'locks/door'), '', 'ana').remove()).rejects.toMatchObject(denied)
  expect(() => onDisconnectIf(ref(db, 'locks'), 'a#', 1)).toThrow('bad path')
  live.deleteDatabase(db)
  await expect.poll(() => server.rest(ns, 'GET', '/presence/lock')).toBe(null)
})

test('a listen that outgrows a .limit is told why it ends', async () => {
  const { limitToLast, onValue, query, ref, set } = live
  const db = connect()
  const bounded = ref(db, 'bounded')
  await set(bounded, { a: 1 })
  const ended = [bounded, query(bounded, limitToLast(2))].map(
    (place, i) => new Promise((_, reject) => onValue(place, () => i || set(ref(db, 'bounded/b'), 2), reject))
  )
  const why = {
    code: 'TOO_BIG',
    message: expect.stringMatching(/^too_big at \/bounded: \/bounded has more than 1 children/)
  }
  for (const end of ended) await expect(end).rejects.toMatchObject(why)
  await expect(live.get(bounded)).rejects.toMatchObject({ code: 'TOO_BIG' })
  live.deleteDatabase(db)
})

test('a server without these is asked for none of them', async () => {
  const unsupported = { code: 'UNSUPPORTED' }
  const db = live.getDatabase({ databaseURL: 'http://localhost:9000?ns=old', WebSocket: FakeSocket })
  const place = live.ref(db, 'a')
  const asked = [
    live.getCount(place),
    live.explain(place),
    live.setReturning(place, 1),
    live.updateReturning(place, { b: 1 }),
    live.onDisconnectIf(place, 'b', 1).remove()
  ].map(answer => expect(answer).rejects.toMatchObject(unsupported))
  await expect.poll(() => FakeSocket.all.length).toBe(1)
  FakeSocket.last.greet()
  await Promise.all(asked)
  expect(FakeSocket.last.sent).toEqual([])
  live.deleteDatabase(db)
})

test('a database that is refused answers all of them', async () => {
  const warned = vi.spyOn(console, 'warn').mockImplementation(() => {})
  const db = live.getDatabase({ databaseURL: 'http://localhost:9000?ns=away', WebSocket: FakeSocket })
  const place = live.ref(db, 'a')
  FakeSocket.all.length = 0
  const read = live.get(place)
  await expect.poll(() => FakeSocket.all.length).toBe(1)
  FakeSocket.last.greet()
  FakeSocket.last.answer(1, 'ok', 1)
  const have = await read
  const ask = () =>
    [
      live.getCount(place),
      live.getAll(db, [place]),
      live.getPage(place),
      live.pages(place).next(),
      live.explain(place),
      live.explainSet(place, 1),
      live.setReturning(place, 1),
      live.updateReturning(place, { b: 1 }),
      live.onDisconnectIf(place, 'b', 1).remove(),
      live.refresh(place, have)
    ].map(answer => expect(answer).rejects.toMatchObject({ code: 'REFUSED' }))
  FakeSocket.last.onclose()
  const asked = ask()
  live.onConnectionState(db, state => state === 'refused' && asked.push(...ask()))
  await expect.poll(() => FakeSocket.all.length, { timeout: 60_000 }).toBe(2)
  FakeSocket.last.receive({ t: 'c', d: { t: 's', d: 'banned' } })
  await Promise.all([...asked, ...ask()])
  expect(asked).toHaveLength(20)
  live.deleteDatabase(db)
  await expect(live.getCount(place)).rejects.toMatchObject({ code: 'CLOSED' })
  warned.mockRestore()
})

describe('a conditional read on the wire', () => {
  const sockets = FakeSocket.all
  /** A database that has read 1 from a server with features. */
  async function having(f: string[]) {
    sockets.length = 0
    const db = live.getDatabase({ databaseURL: 'http://localhost:9000?ns=if', WebSocket: FakeSocket })
    const place = live.ref(db, 'a')
    const read = live.get(place)
    await expect.poll(() => sockets.length).toBe(1)
    FakeSocket.last.greet({ f })
    FakeSocket.last.answer(1, 'ok', 1)
    return { db, place, snapshot: await read }
  }
  const asked = (n: number) => expect.poll(() => FakeSocket.last.requests('g')[n]?.b)

  test('has the hash of what is known', async () => {
    const { db, place, snapshot } = await having(['h'])
    const same = live.refresh(place, snapshot)
    await asked(1).toEqual({ p: '/a', q: {}, h: 'YPVfR2bXt/lcDjiQZ8pOkAd3qkQ=' })
    FakeSocket.last.answer(2, 'ok', { same: true })
    expect(await same).toEqual({ snapshot, changed: false })
    const other = live.refresh(place, snapshot)
    await asked(2).toMatchObject({ p: '/a' })
    FakeSocket.last.answer(3, 'ok', { v: { same: true } })
    expect((await other).snapshot.val()).toEqual({ same: true })
    live.deleteDatabase(db)
  })

  test('is a plain one of a server that has none', async () => {
    const { db, place, snapshot } = await having([])
    const other = live.refresh(place, snapshot)
    await asked(1).toEqual({ p: '/a', q: {} })
    FakeSocket.last.answer(2, 'ok', { same: true })
    expect((await other).snapshot.val()).toEqual({ same: true })
    live.deleteDatabase(db)
  })

  test('is made again on another connection, as that server can', async () => {
    const { db, place, snapshot } = await having(['h'])
    const again = live.refresh(place, snapshot)
    await asked(1).toMatchObject({ h: expect.any(String) })
    FakeSocket.last.onclose()
    await expect.poll(() => sockets.length, { timeout: 60_000 }).toBe(2)
    FakeSocket.last.greet({ f: [] })
    await asked(0).toEqual({ p: '/a', q: {} })
    FakeSocket.last.answer(FakeSocket.last.requests('g')[0].r, 'ok', 1)
    expect(await again).toEqual({ snapshot, changed: false })
    live.deleteDatabase(db)
  })
})

test('a listener of an order by several children has its window and its own writes in it', async () => {
  const { onValue, orderByChildren, query, ref, set, remove, equalTo, limitToLast } = live
  const db = live.getDatabase({ databaseURL: server.url(ns) })
  const groups = ref(db, 'groups')
  let seen = ''
  const stop = onValue(
    query(groups, orderByChildren('owner', 'created'), equalTo(['u1']), limitToLast(2)),
    s => {
      const list: string[] = []
      s.forEach(child => void list.push(child.key!))
      seen = list.join(' ')
    }
  )
  const shows = (keys: string) => vi.waitFor(() => expect(seen).toBe(keys), 60_000)
  await shows('c a')
  const done = set(ref(db, 'groups/e'), { owner: 'u1', created: 2 })
  expect(seen).toBe('e a') // before the server has it
  await done
  await set(ref(db, 'groups/f'), { owner: 'u2', created: 9 })
  await shows('e a')
  await server.rest(ns, 'PUT', '/groups/c/created', 5)
  await shows('a c')
  await remove(ref(db, 'groups/e'))
  await remove(ref(db, 'groups/c'))
  await shows('d a')
  await server.rest(ns, 'PUT', '/groups/c', { owner: 'u1', created: 1 })
  await server.rest(ns, 'DELETE', '/groups/f')
  await shows('c a')
  stop()
})
