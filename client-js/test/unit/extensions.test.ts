// What Dogwood has beyond the protocol, at the real server, under rules.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
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
    closed: { a: 1 },
    tickets: { last: 6, hidden: 40 }
  })
  await server.rest(ns, 'PUT', '/.settings/rules', {
    rules: {
      rooms: { '.read': true, '.indexOn': 'type', $room: { '.write': true } },
      halls: { '.read': true },
      tickets: { '.write': true, last: { '.read': true }, at: { '.read': true } },
      presence: { '.read': true, '.write': true },
      locks: { '.write': true },
      bounded: { '.read': true, '.write': true, '.limit': 1 }
    }
  })
}, 120_000)
afterAll(() => server?.stop())

for (const [name, api] of Object.entries({ realtime: live, rest: rest as unknown as typeof live })) {
  const { equalTo, explain, explainSet, explainUpdate, getCount, limitToFirst, orderByChild, query, ref } =
    api
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
  })
}

const connect = () => live.getDatabase({ databaseURL: server.url(ns) })

test('writes tell what their server values came to, to those who may read it', async () => {
  const { increment, ref, serverTimestamp, setReturning, updateReturning } = live
  const db = connect()
  expect(await setReturning(ref(db, 'tickets/last'), increment(1))).toEqual({ '': 7 })
  const told = await updateReturning(ref(db, 'tickets'), {
    last: increment(1),
    hidden: increment(1),
    at: serverTimestamp()
  })
  expect(told).toEqual({ last: 8, at: expect.any(Number) })
  expect(await server.rest(ns, 'GET', '/tickets/hidden')).toBe(41)
  expect(await setReturning(ref(db, 'rooms/a'), { type: 'public' })).toEqual({})
  await expect(setReturning(ref(db, 'closed/a'), increment(1))).rejects.toMatchObject(denied)
  expect(await live.set(ref(db, 'tickets/last'), 1)).toBe(undefined)
  live.deleteDatabase(db)
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
