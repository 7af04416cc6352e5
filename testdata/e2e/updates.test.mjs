// update(): several places in one atomic write.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { get, ref, set, setPriority, update } from 'firebase/database'
import { fence, values } from './events.mjs'
import { scene, sharedServer } from './harness.mjs'

suite('updates', () => {
  const server = sharedServer()

  test('named children change, the others stay', async t => {
    const s = scene(t, server)
    const db = s.client()
    await set(ref(db, 'x'), { a: 1, b: 2, c: { d: 3, e: 4 } })
    await update(ref(db, 'x'), { a: 10, b: null, c: { f: 5 }, g: 'new' })
    assert.deepEqual((await get(ref(s.client(), 'x'))).val(), { a: 10, c: { f: 5 }, g: 'new' })
  })

  test('paths reach deep and wide in one event', async t => {
    const s = scene(t, server)
    const writer = s.client()
    const other = s.client()
    await set(ref(writer, '/'), { users: { ana: { name: 'Ana' } }, rooms: { r1: { name: 'Lobby', old: 1 } } })
    const own = values(ref(writer, '/'))
    const seen = values(ref(other, '/'))
    await Promise.all([own.count(1), seen.count(1)])
    await update(ref(writer, '/'), {
      'users/ana/rooms/r1': true,
      'rooms/r1/members/ana': true,
      'rooms/r1/old': null
    })
    const want = {
      users: { ana: { name: 'Ana', rooms: { r1: true } } },
      rooms: { r1: { name: 'Lobby', members: { ana: true } } }
    }
    await seen.reaches(want)
    assert.deepEqual(own.items.slice(1), [want], 'events at the writer')
    assert.deepEqual(seen.items.slice(1), [want], 'events at the other client')
  })

  test('listeners below, beside and above each hear their part once', async t => {
    const s = scene(t, server)
    const db = s.client()
    const listener = s.client()
    await set(ref(db, 'x'), { a: { n: 0 }, b: { n: 0 }, c: { n: 0 } })
    const logs = ['x/a', 'x/b/n', 'x/c', 'x/d'].map(path => values(ref(listener, path)))
    await Promise.all(logs.map(log => log.count(1)))
    await update(ref(db, 'x'), { 'a/n': 1, 'a/m': 1, 'b/n': 1, d: 1 })
    await fence(listener)
    assert.deepEqual(logs.map(log => log.items), [
      [{ n: 0 }, { n: 1, m: 1 }], [0, 1], [{ n: 0 }], [null, 1]
    ])
  })

  test('lists, empty objects and nulls inside an update are normalised', async t => {
    const s = scene(t, server)
    const db = s.client()
    const seen = values(ref(s.client(), 'x'))
    await seen.reaches(null)
    // update() sends this as it stands, unlike set().
    await update(ref(db, 'x'), { list: ['a', null, 'c'], empty: {}, none: [], deep: { gone: null, kept: [{}, 1] } })
    const want = { list: ['a', , 'c'], deep: { kept: [, 1] } }
    await seen.reaches(want)
    assert.deepEqual((await get(ref(s.client(), 'x'))).val(), want)
  })

  test('an update that removes everything removes the parent', async t => {
    const s = scene(t, server)
    const db = s.client()
    await set(ref(db, 'x'), { a: 1, b: { c: 2 } })
    await update(ref(db, '/'), { 'x/a': null, 'x/b/c': null })
    assert.equal((await get(ref(s.client(), '/'))).exists(), false)
  })

  test('an update keeps the priority of its place, a set does not', async t => {
    const s = scene(t, server)
    const db = s.client()
    await set(ref(db, 'x'), { a: 1 })
    await setPriority(ref(db, 'x'), 5)
    await update(ref(db, 'x'), { b: 2 })
    assert.equal((await get(ref(s.client(), 'x'))).priority, 5)
    await set(ref(db, 'x'), { c: 3 })
    assert.equal((await get(ref(s.client(), 'x'))).priority, null)
  })

  test('writes of many clients at one place end in one agreed value', async t => {
    const s = scene(t, server)
    const clients = Array.from({ length: 5 }, () => s.client())
    const logs = clients.map(db => values(ref(db, 'x')))
    await Promise.all(logs.map(log => log.reaches(null)))
    await Promise.all(clients.flatMap((db, i) => [
      set(ref(db, 'x/who'), i),
      update(ref(db, 'x'), { who: i + 10, [`c${i}`]: true }),
      set(ref(db, `x/list/${i}`), i)
    ]))
    const end = (await get(ref(s.client(), 'x'))).val()
    assert.deepEqual(end.list, [0, 1, 2, 3, 4])
    await Promise.all(logs.map(log => log.reaches(end, 'value of the server')))
  })

  test('slow connections see the same history', async t => {
    const s = scene(t, server)
    const [a, b] = [await s.proxied(), await s.proxied()]
    const seen = [values(ref(a.db, 'x')), values(ref(b.db, 'x'))]
    await Promise.all(seen.map(log => log.reaches(null)))
    a.proxy.delay(30)
    b.proxy.delay(10)
    for (const n of [1, 2, 3]) {
      await Promise.all([set(ref(a.db, 'x'), `a${n}`), set(ref(b.db, 'x'), `b${n}`)])
    }
    const end = (await get(ref(s.client(), 'x'))).val()
    await Promise.all(seen.map(log => log.reaches(end)))
  })
})
