// What clients notice of security rules. The language has its own tests.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import {
  get, limitToFirst, onDisconnect, onValue, orderByChild, orderByKey, query, ref, runTransaction, set, startAt, update
} from 'firebase/database'
import { fence, Log, values, within } from './events.mjs'
import { scene, sharedServer } from './harness.mjs'

suite('rules', () => {
  const server = sharedServer()

  /** A namespace with rules. "fence" stays open, for fence(). */
  async function ruled(t, rules) {
    const s = scene(t, server)
    const install = async rules => {
      const response = await s.fetch('.settings/rules', {
        method: 'PUT',
        headers: { Authorization: 'Bearer owner' },
        body: { rules: { fence: { '.read': true, '.write': true }, ...rules } }
      })
      assert.equal(response.status, 200, await response.text())
    }
    await install(rules)
    /** Writes past the rules. */
    const put = (path, body) => s.fetch(path, { method: 'PUT', headers: { Authorization: 'Bearer owner' }, body })
    return { s, install, put }
  }

  const denied = error => {
    assert.equal(error.code, 'PERMISSION_DENIED')
    assert.equal(error.message, 'PERMISSION_DENIED: Permission denied')
    return true
  }

  test('a denied write is taken back', async t => {
    const { s } = await ruled(t, { x: { '.read': true, open: { '.write': true }, closed: { '.write': false } } })
    const db = s.client()
    const other = s.client()
    const seen = values(ref(db, 'x'))
    const heard = values(ref(other, 'x'))
    await Promise.all([seen.reaches(null), heard.reaches(null)])
    await set(ref(db, 'x/open'), 1)
    await assert.rejects(within(set(ref(db, 'x/closed'), 2), 'refusal'), denied)
    assert.deepEqual(seen.items, [null, { open: 1 }, { open: 1, closed: 2 }, { open: 1 }])
    await fence(other)
    assert.deepEqual(heard.items, [null, { open: 1 }])
  })

  test('an update is denied as a whole', async t => {
    const { s, put } = await ruled(t, { open: { '.write': true }, closed: { '.write': false }, '.read': true })
    const db = s.client()
    await assert.rejects(within(update(ref(db, '/'), { open: 1, closed: 1 }), 'refusal'), denied)
    await put('closed', 'by the admin')
    assert.deepEqual((await get(ref(db, 'open'))).val(), null)
  })

  test('a denied listener and a denied read are told', async t => {
    const { s } = await ruled(t, { secret: { '.read': false } })
    const db = s.client()
    for (const q of [ref(db, 'secret'), query(ref(db, 'secret/list'), orderByKey(), limitToFirst(1))]) {
      const log = new Log()
      onValue(q, snap => log.add(snap.val()), error => log.add(error))
      await log.count(1)
      assert.equal(log.items[0].code, 'PERMISSION_DENIED')
      assert.match(log.items[0].message, /^permission_denied at \/secret/)
      await fence(db)
      assert.equal(log.items.length, 1)
    }
    await assert.rejects(get(ref(db, 'secret')), /Permission denied/)
  })

  test('a denied transaction and a denied onDisconnect are told', async t => {
    const { s } = await ruled(t, { x: { '.read': true, '.write': false } })
    const db = s.client()
    const attempt = runTransaction(ref(db, 'x'), n => (n ?? 0) + 1)
    await assert.rejects(within(attempt, 'refusal'), /permission.denied/i)
    await assert.rejects(within(onDisconnect(ref(db, 'x')).set(1), 'refusal'), denied)
  })

  test('new rules end the listeners they deny, once each', async t => {
    const { s, install, put } = await ruled(t, { a: { '.read': true }, b: { '.read': true } })
    await put('a', 1)
    await put('b', 1)
    const db = s.client()
    const logs = ['a', 'b'].map(path => {
      const log = new Log()
      onValue(ref(db, path), snap => log.add(snap.val()), error => log.add(error.code))
      return log
    })
    await Promise.all(logs.map(log => log.reaches(1)))
    await install({ a: { '.read': false }, b: { '.read': true } })
    await logs[0].reaches('PERMISSION_DENIED')
    await put('a', 2)
    await put('b', 2)
    await logs[1].reaches(2)
    await fence(db)
    assert.deepEqual(logs.map(log => log.items), [[1, 'PERMISSION_DENIED'], [1, 2]])
  })

  // The push that ends them has a status and a text, which this client does not know.
  test('listeners that outgrow a .limit end, and the others go on', async t => {
    const bounded = { '.read': true, '.limit': 1 }
    const { s, put } = await ruled(t, { a: bounded, b: bounded, c: { '.read': true } })
    const db = s.client()
    const logs = [ref(db, 'a'), query(ref(db, 'b'), orderByKey(), startAt('x')), ref(db, 'c')].map(q => {
      const log = new Log()
      onValue(q, snap => log.add(snap.val()), error => log.add(error.code))
      return log
    })
    await Promise.all(logs.map(log => log.reaches(null)))
    for (const path of ['a', 'b', 'c']) await put(path, { x: 1, y: 2 })
    await Promise.all(logs.map((log, i) => log.reaches(i < 2 ? 'PERMISSION_DENIED' : { x: 1, y: 2 })))
    await put('a/x', null)
    const again = values(ref(db, 'a'))
    await again.reaches({ y: 2 })
    await put('a/y', 3)
    await again.reaches({ y: 3 })
    await fence(db)
    assert.deepEqual(logs.map(log => log.items.slice(1)), [['PERMISSION_DENIED'], ['PERMISSION_DENIED'], [{ x: 1, y: 2 }]])
  })

  test('a listener without an index still gets its window, a read does not', async t => {
    const { s, put, install } = await ruled(t, { x: { '.read': true } })
    await put('x', { a: { n: 2 }, b: { n: 1 } })
    const db = s.client()
    const q = query(ref(db, 'x'), orderByChild('n'), limitToFirst(1))
    const seen = values(q)
    await seen.reaches({ b: { n: 1 } })
    seen.stop()
    await assert.rejects(get(q), /Index not defined, add "\.indexOn": "n", for path "\/x", to the rules/)
    await install({ x: { '.read': true, '.indexOn': 'n' } })
    assert.deepEqual((await get(q)).val(), { b: { n: 1 } })
  })
})
