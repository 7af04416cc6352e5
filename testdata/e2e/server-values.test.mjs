// Placeholders that the server fills in: increment and serverTimestamp.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import {
  get, goOffline, goOnline, increment, onDisconnect, push, ref, serverTimestamp, set, setPriority,
  setWithPriority, update
} from 'firebase/database'
import { fence, values } from './events.mjs'
import { scene, sharedServer } from './harness.mjs'

suite('server values', () => {
  const server = sharedServer()

  test('serverTimestamp is the time of the commit, the same throughout a write', async t => {
    const s = scene(t, server)
    const db = s.client()
    const seen = values(ref(s.client(), 'x'))
    await seen.reaches(null)
    const before = Date.now()
    await set(ref(db, 'x'), { a: serverTimestamp(), deep: { b: serverTimestamp() } })
    const after = Date.now()
    await update(ref(db, '/'), { 'x/c': serverTimestamp(), 'x/deep/d': serverTimestamp() })

    const { a, c, deep } = (await get(ref(db, 'x'))).val()
    assert.ok(Number.isInteger(a) && before <= a && a <= after, `${before} <= ${a} <= ${after}`)
    assert.equal(deep.b, a)
    assert.equal(deep.d, c)
    assert.ok(c >= a)
    await seen.reaches({ a, c, deep })
  })

  test('serverTimestamp as a priority, in a push and in a REST write', async t => {
    const s = scene(t, server)
    const db = s.client()
    const before = Date.now()
    await setWithPriority(ref(db, 'x'), 'text', serverTimestamp())
    await set(ref(db, 'y'), 'text')
    await setPriority(ref(db, 'y'), serverTimestamp())
    const item = await push(ref(db, 'list'), { at: serverTimestamp() })
    await s.rest('PUT', 'z', { at: { '.sv': 'timestamp' } })
    const { x, y, z, list } = await s.rest('GET', '', undefined, { format: 'export' })
    for (const at of [x['.priority'], y['.priority'], z.at, list[item.key].at]) {
      assert.ok(before <= at && at <= Date.now(), String(at))
    }
    assert.equal(x['.value'], 'text')
  })

  test('increment adds to a number and starts afresh from anything else', async t => {
    const s = scene(t, server)
    const db = s.client()
    const cases = [
      [null, 3, 3], [10, 3, 13], [10, -12.5, -2.5], ['text', 3, 3], [true, 3, 3], [{ a: 1 }, 3, 3],
      [0.1, 0.2, 0.1 + 0.2], [2 ** 53, 2, 2 ** 53 + 2], [1e308, 1e308 / 2, 1.5e308]
    ]
    for (const [old, delta, want] of cases) {
      const what = `${JSON.stringify(old)} + ${delta}`
      await set(ref(db, 'n'), old)
      const seen = values(ref(db, 'n'))
      await seen.count(1)
      await set(ref(db, 'n'), increment(delta))
      await fence(db)
      assert.deepEqual(seen.last, want, `listener of ${what}`)
      seen.stop()
      assert.equal((await get(ref(s.client(), 'n'))).val(), want, what)
    }
  })

  test('1000 increments of 20 clients lose none', async t => {
    const s = scene(t, server)
    const clients = Array.from({ length: 20 }, () => s.client())
    const seen = values(ref(s.client(), 'n'))
    await seen.reaches(null)
    await Promise.all(clients.flatMap(db => Array.from({ length: 50 }, () => set(ref(db, 'n'), increment(1)))))
    assert.equal(await s.rest('GET', 'n'), 1000)
    await seen.reaches(1000)
  })

  test('many counters in one update', async t => {
    const s = scene(t, server)
    const db = s.client()
    await set(ref(db, 'x'), { a: 1, b: { c: 2 } })
    const seen = values(ref(s.client(), 'x'))
    await seen.count(1)
    await update(ref(db, '/'), {
      'x/a': increment(1), 'x/b/c': increment(-2), 'x/b/d': increment(5), 'x/text': 'plain'
    })
    await seen.reaches({ a: 2, b: { c: 0, d: 5 }, text: 'plain' })
    assert.equal(seen.items.length, 2)
  })

  test('a wrong guess of the writer is put right', async t => {
    const s = scene(t, server)
    const { db, proxy } = await s.proxied()
    await s.rest('PUT', 'n', 1)
    const seen = values(ref(db, 'n'))
    await seen.reaches(1)
    proxy.hold()
    const write = set(ref(db, 'n'), increment(1))
    assert.equal(seen.last, 2, 'the guess')
    await s.rest('PUT', 'n', 100)
    proxy.release()
    await write
    assert.equal(await s.rest('GET', 'n'), 101)
    await seen.reaches(101)
  })

  test('increments queued offline add to what the others did meanwhile', async t => {
    const s = scene(t, server)
    const db = s.client()
    const seen = values(ref(db, 'n'))
    await set(ref(db, 'n'), 1)
    goOffline(db)
    const writes = [1, 2, 3].map(n => set(ref(db, 'n'), increment(n)))
    assert.equal(seen.last, 7)
    await s.rest('PUT', 'n', 100)
    goOnline(db)
    await Promise.all(writes)
    await seen.reaches(106)
  })

  test('onDisconnect fills them in when it runs, not when it is registered', async t => {
    const s = scene(t, server)
    const db = s.client()
    const seen = values(ref(s.client(), 'x'))
    await set(ref(db, 'x'), { n: 1, at: 0 })
    await onDisconnect(ref(db, 'x')).update({ n: increment(1), at: serverTimestamp() })
    await set(ref(db, 'x/n'), 10)
    const before = Date.now()
    goOffline(db)
    const { at } = await seen.until(items => items.find(x => x?.n === 11), 'x/n = 11')
    assert.ok(before <= at && at <= Date.now(), String(at))
  })
})
