// .info: what a client knows about its connection.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { get, goOffline, goOnline, ref, set, update } from 'firebase/database'
import { values } from './events.mjs'
import { scene, sharedServer } from './harness.mjs'

suite('.info', () => {
  const server = sharedServer()

  test('connected follows goOffline and goOnline', async t => {
    const s = scene(t, server)
    const db = s.client()
    const connected = values(ref(db, '.info/connected'))
    await connected.reaches(true)
    goOffline(db)
    await connected.reaches(false)
    goOnline(db)
    await connected.reaches(true)
    assert.deepEqual(connected.items, [false, true, false, true])
  })

  test('connected follows a cut line and its repair', async t => {
    const s = scene(t, server)
    const { db, proxy } = await s.proxied()
    const connected = values(ref(db, '.info/connected'))
    await connected.reaches(true)
    proxy.refuse()
    proxy.cut()
    await connected.reaches(false)
    proxy.accept()
    await connected.reaches(true)
    assert.deepEqual(connected.items, [false, true, false, true])
  })

  test('serverTimeOffset is the difference of the clocks', async t => {
    const s = scene(t, server)
    const db = s.client()
    const offset = values(ref(db, '.info/serverTimeOffset'))
    await values(ref(db, '.info/connected')).reaches(true)
    // One machine, one clock: what remains is the way of the first message.
    assert.ok(Math.abs(offset.last) < 1000, `offset ${offset.last} ms`)
  })

  test('.info is not data', async t => {
    const s = scene(t, server)
    const db = s.client()
    await assert.rejects(get(ref(db, '.info/connected')), /Invalid token in path/)
    await assert.rejects(update(ref(db, '.info/x'), { y: 1 }), error => {
      assert.equal(error.code, 'INVALID_PARAMETERS')
      assert.match(error.message, /Invalid token in path/)
      return true
    })
    assert.throws(() => set(ref(db, '.info/x'), 1))
    assert.equal((await s.fetch('.info/connected')).status, 400)
  })
})
