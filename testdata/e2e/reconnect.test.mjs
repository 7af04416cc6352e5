// After a reconnect the client tells the hash of what it has. The server
// answers without data when nothing changed.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import {
  goOffline, goOnline, limitToLast, off, orderByChild, orderByKey, query, ref, runTransaction, set,
  startAt
} from 'firebase/database'
import { fence, values, within } from './events.mjs'
import { durableServer, proxyTo, scene, sharedServer } from './harness.mjs'

suite('reconnect', () => {
  const server = sharedServer()

  test('after a cut line, an unchanged value is not sent again', async t => {
    const s = scene(t, server)
    const { db, proxy } = await s.proxied()
    await s.rest('PUT', 'x', { a: 1, b: { c: ['x', 'y'] } })
    const seen = values(ref(db, 'x'))
    await seen.count(1)
    proxy.cut()
    const { hash, data } = await secondListen(proxy, 'x')
    assert.match(hash, /^[A-Za-z0-9+/]{27}=$/)
    assert.deepEqual(data, [], 'data sent')

    await s.rest('PUT', 'x/a', 2)
    await seen.reaches({ a: 2, b: { c: ['x', 'y'] } })
    assert.equal(seen.items.length, 2, 'one event for the one change')
    const hello = proxy.messages.items.find(m => m.type === 'c' && m.body.t === 'h')
    assert.equal(proxy.requests.last.url.searchParams.get('ls'), hello.body.d.s, 'the last session is named')
  })

  test('what changed while the line was cut is sent', async t => {
    const s = scene(t, server)
    const { db, proxy } = await s.proxied()
    await s.rest('PUT', 'x', { a: 1, b: 2, c: 3 })
    const seen = values(ref(db, 'x'))
    await seen.count(1)
    proxy.refuse()
    proxy.cut()
    await s.rest('PATCH', 'x', { a: 10, b: null })
    proxy.accept()
    await seen.reaches({ a: 10, c: 3 })
    assert.equal(seen.items.length, 2)
  })

  test('what was removed while the line was cut goes away', async t => {
    const s = scene(t, server)
    const { db, proxy } = await s.proxied()
    await s.rest('PUT', 'x', { a: 1 })
    const seen = values(ref(db, 'x'))
    await seen.count(1)
    proxy.refuse()
    proxy.cut()
    await s.rest('DELETE', 'x')
    proxy.accept()
    await seen.reaches(null)
  })

  test('the hash covers numbers, texts, priorities and order', async t => {
    const s = scene(t, server)
    const samples = {
      numbers: [0, -1, 0.1, 1e21, 1.5e-7, 2 ** 31, 2 ** 53, 5e-324, Number.MAX_VALUE],
      // This client hashes these differently from everybody else.
      odd: [Number.MAX_SAFE_INTEGER, 2 ** 48 - 1, 2 ** -29, -2.5e-300],
      texts: { e: '', colon: 'a:b', '"': '"\\\n', jp: '東京', emoji: '👩‍👩‍👧', sep: '\u2028' },
      keys: { 10: 1, 9: 1, '-3': 1, '010': 1, '😀': 1, '\uffee': 1, a: 1, Z: 1 },
      priorities: {
        '.priority': 'top', a: { '.value': 1, '.priority': 'z' }, b: { '.value': 2, '.priority': 3 },
        c: { d: true, '.priority': -0.5 }, e: false
      }
    }
    for (const [name, value] of Object.entries(samples)) {
      await s.rest('PUT', name, value)
      const { db, proxy } = await s.proxied()
      await values(ref(db, name)).count(1)
      goOffline(db)
      goOnline(db)
      const { hash, data } = await secondListen(proxy, name)
      assert.notEqual(hash, '', name)
      assert.deepEqual(data, [], `data sent for ${name}`)
    }
  })

  test('windows have their own hash', async t => {
    const s = scene(t, server)
    const { db, proxy } = await s.proxied()
    await s.rest('PUT', 'x', { a: { n: 3 }, b: { n: 1 }, c: { n: 2, '.priority': 1 } })
    const seen = values(query(ref(db, 'x'), orderByChild('n'), limitToLast(2)))
    await seen.reaches({ c: { n: 2 }, a: { n: 3 } })
    goOffline(db)
    goOnline(db)
    const same = await secondListen(proxy, 'x')
    assert.notEqual(same.hash, '')
    assert.deepEqual(same.data, [], 'data sent')

    goOffline(db)
    await s.rest('PATCH', 'x', { 'b/text': 'outside', d: { n: 9 } })
    goOnline(db)
    await seen.reaches({ a: { n: 3 }, d: { n: 9 } })
    assert.equal(seen.items.length, 2)
  })

  test('the hash of a window leaves out the priority of its place', async t => {
    const s = scene(t, server)
    await s.rest('PUT', 'x', { '.priority': 3, a: { '.value': 1, '.priority': 'p' }, b: 2, c: 3 })
    for (const limit of [limitToLast(2), startAt('b')]) {
      const { db, proxy } = await s.proxied()
      await values(query(ref(db, 'x'), orderByKey(), limit)).count(1)
      goOffline(db)
      goOnline(db)
      const { hash, data } = await secondListen(proxy, 'x')
      assert.notEqual(hash, '')
      assert.deepEqual(data, [], 'data sent')
    }
  })

  test('all listeners come back, ended ones do not', async t => {
    const s = scene(t, server)
    const { db, proxy } = await s.proxied()
    await s.rest('PUT', '', { a: 1, b: { 1: 'x', 2: 'y' }, c: 3 })
    const a = values(ref(db, 'a'))
    const b = values(query(ref(db, 'b'), orderByKey(), limitToLast(1)))
    const c = values(ref(db, 'c'))
    await Promise.all([a, b, c].map(log => log.count(1)))
    off(ref(db, 'c'))
    proxy.cut()
    await secondListen(proxy, 'a')
    await s.rest('PUT', '', { a: 2, b: { 2: 'y', 3: 'z' }, c: 4 })
    await a.reaches(2)
    await b.reaches({ 3: 'z' })
    await fence(db)
    assert.deepEqual(c.items, [3])
  })

  test('a server restart is only a reconnect', async t => {
    const durable = await durableServer(t)
    const s = scene(t, durable)
    const proxy = await proxyTo(t, durable)
    const db = s.client(proxy)
    await set(ref(db, 'x'), { a: 1, '.priority': 2 })
    const seen = values(ref(db, 'x'))
    await seen.reaches({ a: 1 })
    await durable.kill()
    await durable.start()
    const { hash, data } = await secondListen(proxy, 'x')
    assert.notEqual(hash, '')
    assert.deepEqual(data, [], 'data sent')
    await s.rest('PUT', 'x/a', 2)
    await seen.reaches({ a: 2 })
    assert.equal(seen.items.length, 2)
  })

  test('a line that breaks all the time loses and repeats nothing', async t => {
    const s = scene(t, server)
    const { db, proxy } = await s.proxied()
    const other = s.client()
    const seen = values(ref(db, 'list'))
    await seen.reaches(null)
    for (let round = 0; round < 5; round++) {
      // Transactions that were on their way are reported, not repeated.
      const counted = runTransaction(ref(db, 'n'), n => (n ?? 0) + 1).catch(error => {
        assert.match(error.message, /disconnect/)
      })
      const writes = [set(ref(db, `list/own${round}`), round), set(ref(other, `list/other${round}`), round)]
      proxy.cut()
      goOffline(db) // instead of waiting for the client's back-off
      goOnline(db)
      await within(Promise.all([counted, ...writes]), `end of round ${round}`)
    }
    const want = await s.rest('GET', 'list')
    assert.equal(Object.keys(want).length, 10)
    await seen.reaches(want)
    const n = await s.rest('GET', 'n')
    assert.ok(n <= 5, `counted ${n} times in 5 rounds`)
  })
})

/**
 * The client's listen at `path` on its second connection: the hash it sent and
 * the data that the server sent for it before the answer.
 */
async function secondListen(proxy, path) {
  const clean = p => p.replace(/^\/|\/$/g, '')
  const listens = m => m.from === 'client' && m.type === 'd' && m.body.a === 'q' && clean(m.body.b.p) === path
  const first = await proxy.messages.find(listens, 'the first listen')
  const second = await proxy.messages.find(m => listens(m) && m.conn > first.conn, 'the listen after the reconnect')
  await proxy.messages.find(
    m => m.conn === second.conn && m.from === 'server' && m.body.r === second.body.r, 'the answer to it'
  )
  const data = proxy.messages.items
    .filter(m => m.conn === second.conn && m.from === 'server' && ['d', 'm'].includes(m.body.a))
    .map(m => m.body.b)
  return { hash: second.body.b.h, data }
}
