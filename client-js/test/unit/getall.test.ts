// Several places in one request, by both entries, at the real server.

import { afterAll, beforeAll, describe, expect, expectTypeOf, test } from 'vitest'
import * as live from '../../src/index.js'
import * as rest from '../../src/rest.js'
import { FakeSocket } from '../support/fake-server.js'
import { freshNamespace, Server } from '../support/server.js'

let server: Server
const ns = freshNamespace()

beforeAll(async () => {
  server = await new Server().start()
  await server.rest(ns, 'PUT', '/', {
    users: { ana: { name: 'Ana', groups: { alpha: 3, bravo: 1, charlie: 2, gone: 4 } } },
    groups: {
      alpha: { name: 'Alpha Tango' },
      bravo: { name: 'Bravo', private: true },
      charlie: { name: 'Charlie' }
    }
  })
  await server.rest(ns, 'PUT', '/.settings/rules', {
    rules: {
      users: { '.read': true, $u: { groups: { '.indexOn': '.value' } } },
      groups: { $g: { '.read': '!data.child("private").exists()', '.write': true } }
    }
  })
}, 120_000)
afterAll(() => server?.stop())

for (const [name, api] of Object.entries({ realtime: live, rest: rest as unknown as typeof live })) {
  const { getAll, keysOf, limitToLast, orderByValue, query, ref, startAt } = api
  const open = () => api.getDatabase({ databaseURL: server.url(ns) })

  describe(name, () => {
    test('places, queries and keys, of which a denied one fails alone', async () => {
      const db = open()
      const groups = ref(db, 'users/ana/groups')
      const { revision, results } = await getAll(db, [
        ref<string>(db, 'users/ana/name'),
        ref(db, 'nothing/here'),
        ref(db, 'groups'),
        query(groups, orderByValue(), limitToLast(2)),
        keysOf<string>(groups, 'groups/$key/name'),
        keysOf(ref(db, 'groups'), 'users/$key')
      ])
      const [ana, nothing, denied, newest, names, deniedKeys] = results
      expectTypeOf(ana.snapshot.val()).toEqualTypeOf<string | null>()
      expect(revision).toBeGreaterThan(0)
      expect([ana.snapshot.val(), ana.error]).toEqual(['Ana', undefined])
      expect([nothing.snapshot.val(), nothing.snapshot.key]).toEqual([null, 'here'])
      expect(denied.error).toMatchObject({ code: 'PERMISSION_DENIED' })
      expect(denied.snapshot.exists()).toBe(false)
      const order: string[] = []
      newest.snapshot.forEach(({ key }) => void order.push(key))
      expect(order).toEqual(['alpha', 'gone'])
      expectTypeOf(names.each.get('alpha')!.snapshot.val()).toEqualTypeOf<string | null>()
      expect([...names.each.keys()]).toEqual(['alpha', 'bravo', 'charlie', 'gone'])
      expect([...names.each.values()].map(({ snapshot }) => snapshot.val())).toEqual([
        'Alpha Tango',
        null,
        'Charlie',
        null
      ])
      expect(names.each.get('bravo')!.error).toMatchObject({ code: 'PERMISSION_DENIED' })
      expect(names.each.get('gone')!.error).toBe(undefined)
      expect(names.each.get('alpha')!.snapshot.ref.toString()).toBe(ref(db, 'groups/alpha/name').toString())
      expect(deniedKeys.error).toMatchObject({ code: 'PERMISSION_DENIED' })
      expect(deniedKeys.each.size).toBe(0)
    })

    test('the keys of a window, in its order', async () => {
      const db = open()
      const newest = query(ref(db, 'users/ana/groups'), orderByValue(), startAt(2), limitToLast(2))
      const { results } = await getAll(db, [keysOf(newest, 'groups/$key')])
      expect([...results[0].each.keys()]).toEqual(['alpha', 'gone'])
      const all = query(ref(db, 'users/ana/groups'), orderByValue())
      const ordered = (await getAll(db, [keysOf(all, 'groups/$key')])).results[0]
      expect([...ordered.each.keys()]).toEqual(['bravo', 'charlie', 'alpha', 'gone'])
    })

    test('own writes are there', async () => {
      const db = open()
      const place = ref(db, 'groups/delta')
      const written = api.set(place, { name: 'Delta' })
      if (name === 'rest') await written
      expect((await getAll(db, [place])).results[0].snapshot.val()).toEqual({ name: 'Delta' })
      await written
    })

    test('what is beyond the bounds fails as a whole', async () => {
      const db = open()
      const many = Array.from({ length: 1001 }, (_, i) => ref(db, `groups/g${i}`))
      await expect(getAll(db, many)).rejects.toThrow(/1000|1,000/)
    })

    test('a template needs a key', () => {
      expect(() => keysOf(ref(open(), 'a'), 'b/c')).toThrow('no $key')
      expect(() => keysOf(ref(open(), 'a'), 'b/$key/#')).toThrow()
    })
  })
}

test('over HTTP, bounds have no second key', async () => {
  const db = rest.getDatabase({ databaseURL: server.url(ns) })
  const bounded = rest.query(rest.ref(db, 'users'), rest.orderByValue(), rest.startAt(1, 'b'))
  await expect(rest.getAll(db, [bounded])).rejects.toThrow('second key')
})

test('a server without it is not asked', async () => {
  const db = live.getDatabase({ databaseURL: 'http://localhost:9000?ns=old', WebSocket: FakeSocket })
  const answer = live.getAll(db, [live.ref(db, 'a')])
  await expect.poll(() => FakeSocket.all.length).toBe(1)
  FakeSocket.last.greet()
  await expect(answer).rejects.toMatchObject({ code: 'UNSUPPORTED' })
  expect(FakeSocket.last.sent).toEqual([])
  live.deleteDatabase(db)
})
