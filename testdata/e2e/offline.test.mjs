// Writes without a connection: shown at once, sent later, in order.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { goOffline, goOnline, onChildAdded, push, ref, remove, set, update } from 'firebase/database'
import { fence, Log, values, within } from './events.mjs'
import { durableServer, proxyTo, scene, sharedServer } from './harness.mjs'

suite('offline', () => {
  const server = sharedServer()

  test('queued writes show at once and are sent in order', async t => {
    const s = scene(t, server)
    const { db, proxy } = await s.proxied()
    const other = s.client()
    const seen = values(ref(other, 'x'))
    const own = values(ref(db, 'x'))
    await Promise.all([seen.reaches(null), own.reaches(null)])

    goOffline(db)
    let acknowledged = 0
    const writes = [
      set(ref(db, 'x'), { n: 0 }),
      ...[1, 2, 3, 4, 5].map(n => set(ref(db, 'x/n'), n)),
      update(ref(db, 'x'), { a: 1, b: 2 }),
      remove(ref(db, 'x/a'))
    ].map(write => write.then(() => ++acknowledged))
    assert.deepEqual(own.last, { n: 5, b: 2 })
    assert.equal(own.items.length, 9, 'one local event per write')
    await fence(other)
    assert.deepEqual(seen.items, [null])
    assert.equal(acknowledged, 0)

    const before = proxy.messages.items.length
    goOnline(db)
    await within(Promise.all(writes), 'acknowledgement of all writes')
    await fence(other)
    assert.deepEqual(seen.items.slice(1), [
      { n: 0 }, { n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }, { n: 5 }, { n: 5, a: 1, b: 2 }, { n: 5, b: 2 }
    ])
    await fence(db)
    assert.equal(own.items.length, 9, 'and none when they are confirmed')

    const sent = proxy.messages.items.slice(before).filter(m => m.from === 'client' && m.type === 'd')
    const actions = sent.map(m => m.body.a).filter(action => 'qpm'.includes(action))
    assert.deepEqual(actions.slice(0, 9), ['q', 'p', 'p', 'p', 'p', 'p', 'p', 'm', 'p'], 'listens before writes')
  })

  test('pushes made offline keep their order and their keys', async t => {
    const s = scene(t, server)
    const db = s.client()
    const seen = new Log()
    onChildAdded(ref(s.client(), 'list'), snap => seen.add([snap.key, snap.val()]))
    await fence(db)
    goOffline(db)
    const made = Array.from({ length: 50 }, (_, i) => push(ref(db, 'list'), i))
    goOnline(db)
    await within(Promise.all(made), 'acknowledgement of 50 pushes')
    await seen.count(50)
    assert.deepEqual(seen.items, made.map((item, i) => [item.key, i]))
  })

  test('the client starts offline and catches up', async t => {
    const s = scene(t, server)
    await s.rest('PUT', 'x', { there: 1 })
    const db = s.client()
    goOffline(db)
    const seen = values(ref(db, 'x/mine'))
    const write = set(ref(db, 'x/mine'), 2)
    assert.deepEqual(seen.items, [2])
    goOnline(db)
    await write
    await values(ref(db, 'x')).reaches({ there: 1, mine: 2 })
  })

  test('what others wrote meanwhile arrives, own queued writes stay on top', async t => {
    const s = scene(t, server)
    const db = s.client()
    const seen = values(ref(db, 'x'))
    await set(ref(db, 'x'), { a: 1, b: 1, c: 1 })
    goOffline(db)
    const write = set(ref(db, 'x/a'), 'mine')
    await s.rest('PATCH', 'x', { a: 'theirs', b: 'theirs', c: null })
    goOnline(db)
    await write
    await seen.reaches({ a: 'mine', b: 'theirs' })
    assert.ok(seen.items.every((x, i) => i < 2 || x.a === 'mine'), 'the own write never disappears')
    assert.deepEqual(await s.rest('GET', 'x'), { a: 'mine', b: 'theirs' })
  })

  test('writes whose answer was lost are sent again', async t => {
    const s = scene(t, server)
    const { db, proxy } = await s.proxied()
    await fence(db)
    proxy.hold()
    const writes = Promise.all([1, 2, 3].map(n => set(ref(db, `x/${n}`), n)))
    proxy.cut()
    proxy.release()
    await within(writes, 'acknowledgement after the cut')
    assert.deepEqual(await s.rest('GET', 'x'), [null, 1, 2, 3])
  })

  test('writes made while the server is down arrive when it is back', async t => {
    const durable = await durableServer(t)
    const s = scene(t, durable)
    const proxy = await proxyTo(t, durable)
    const db = s.client(proxy)
    const connected = values(ref(db, '.info/connected'))
    await set(ref(db, 'x/before'), 1)
    await durable.stop()
    await connected.reaches(false)
    const writes = ['a', 'b', 'c'].map(key => set(ref(db, `x/${key}`), key))
    await durable.start()
    await within(Promise.all(writes), 'acknowledgement after the restart')
    assert.deepEqual(await s.rest('GET', 'x'), { before: 1, a: 'a', b: 'b', c: 'c' })
  })
})
