// npm firebase-admin, pointed at the server as its documentation says: by the
// variable FIREBASE_DATABASE_EMULATOR_HOST.

import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { deleteApp, initializeApp } from 'firebase-admin/app'
import { getDatabase, ServerValue } from 'firebase-admin/database'
import { ref, set } from 'firebase/database'
import { Log, values, within } from './events.mjs'
import { freshNamespace, scene, sharedServer } from './harness.mjs'

let apps = 0

suite('firebase-admin', () => {
  const server = sharedServer()
  before(() => {
    process.env.FIREBASE_DATABASE_EMULATOR_HOST = server.host
  })

  /** A namespace with an admin connection, and plain HTTP beside it. */
  function admin(t, ns = freshNamespace()) {
    const app = initializeApp({ projectId: 'e2e', databaseURL: `https://${ns}.firebaseio.com` }, `admin-${++apps}`)
    t.after(() => deleteApp(app))
    return { db: getDatabase(app), s: scene(t, server, ns) }
  }

  test('set, update, push, remove, once', async t => {
    const { db, s } = admin(t)
    await within(db.ref('x').set({ a: 1, b: [1, 2] }), 'acknowledgement')
    await db.ref('x').update({ 'b/1': null, c: { d: 'ü' } })
    const item = await db.ref('list').push('pushed')
    await db.ref('x/a').remove()
    const want = { x: { b: [1], c: { d: 'ü' } }, list: { [item.key]: 'pushed' } }
    assert.deepEqual((await db.ref().once('value')).val(), want)
    assert.deepEqual((await db.ref('x/c').get()).val(), { d: 'ü' })
    assert.deepEqual(await s.rest('GET', ''), want)
  })

  test('value and child events', async t => {
    const { db, s } = admin(t)
    const log = new Log()
    const list = db.ref('list')
    list.on('child_added', (snap, previous) => log.add(`added ${snap.key} after ${previous}`))
    list.on('child_changed', snap => log.add(`changed ${snap.key} to ${snap.val()}`))
    list.on('child_removed', snap => log.add(`removed ${snap.key}`))
    list.on('value', snap => log.add(snap.val()))
    await log.reaches(null)
    await s.rest('PUT', 'list', { a: 1, b: 2 })
    await log.reaches({ a: 1, b: 2 })
    await s.rest('PATCH', 'list', { a: null, b: 3 })
    await log.reaches({ b: 3 })
    list.off()
    assert.deepEqual(log.items, [
      null, 'added a after null', 'added b after a', { a: 1, b: 2 }, 'removed a', 'changed b to 3', { b: 3 }
    ])
  })

  test('queries', async t => {
    const { db, s } = admin(t)
    await s.fetch('.settings/rules', {
      method: 'PUT',
      headers: { Authorization: 'Bearer owner' },
      body: { rules: { people: { '.read': true, '.write': true, '.indexOn': 'age' } } }
    })
    await s.rest('PUT', 'people', { ana: { age: 30 }, bo: { age: 20 }, cy: { age: 40 }, di: { age: 20 } })
    const people = db.ref('people')
    const read = async query => {
      const list = []
      const snap = await query.once('value')
      snap.forEach(child => void list.push(child.key))
      return list
    }
    assert.deepEqual(await read(people.orderByChild('age')), ['bo', 'di', 'ana', 'cy'])
    assert.deepEqual(await read(people.orderByChild('age').limitToLast(2)), ['ana', 'cy'])
    assert.deepEqual(await read(people.orderByChild('age').startAfter(20).endBefore(40)), ['ana'])
    assert.deepEqual(await read(people.orderByChild('age').equalTo(20)), ['bo', 'di'])
    assert.deepEqual(await read(people.orderByChild('age').startAt(20, 'c').limitToFirst(2)), ['di', 'ana'])
    assert.deepEqual(await read(people.orderByKey().startAt('b').endAt('cz')), ['bo', 'cy'])

    const window = new Log()
    people.orderByChild('age').limitToFirst(2).on('value', snap => window.add(Object.keys(snap.val() ?? {})))
    await window.reaches(['bo', 'di'])
    await s.rest('PUT', 'people/ed', { age: 1 })
    await window.reaches(['bo', 'ed'])
    people.off()
  })

  test('20 admin clients count at once', async t => {
    const ns = freshNamespace()
    const clients = Array.from({ length: 20 }, () => admin(t, ns))
    const results = await within(
      Promise.all(clients.map(({ db }) => db.ref('n').transaction(n => (n ?? 0) + 1))), 'end of 20 transactions'
    )
    assert.ok(results.every(result => result.committed))
    assert.equal(await clients[0].s.rest('GET', 'n'), 20)
  })

  test('an aborted transaction changes nothing', async t => {
    const { db, s } = admin(t)
    await s.rest('PUT', 'x', 'old')
    const { committed, snapshot } = await db.ref('x').transaction(x => (x === null ? null : undefined))
    assert.equal(committed, false)
    assert.equal(snapshot.val(), 'old')
  })

  test('server values and priorities', async t => {
    const { db, s } = admin(t)
    const before = Date.now()
    await db.ref('x').set({ at: ServerValue.TIMESTAMP, n: 1 })
    await db.ref('x/n').set(ServerValue.increment(2))
    await db.ref('x').setPriority(5)
    const { at, n, '.priority': priority } = await s.rest('GET', 'x', undefined, { format: 'export' })
    assert.ok(before <= at && at <= Date.now())
    assert.deepEqual([n, priority], [3, 5])
  })

  test('onDisconnect', async t => {
    const { db, s } = admin(t)
    await s.rest('PUT', 'x', { online: true, n: 1 })
    await db.ref('x').onDisconnect().update({ online: false, n: ServerValue.increment(1) })
    await db.ref('y').onDisconnect().set('never')
    await db.ref('y').onDisconnect().cancel()
    const client = s.client()
    const seen = values(ref(client, '/'))
    db.goOffline()
    await seen.reaches({ x: { online: false, n: 2 } })
  })

  test('goOffline and goOnline with queued writes', async t => {
    const { db, s } = admin(t)
    await db.ref('x').set(0)
    db.goOffline()
    const writes = [1, 2, 3].map(n => db.ref('x').set(n))
    assert.equal(await s.rest('GET', 'x'), 0)
    db.goOnline()
    await within(Promise.all(writes), 'acknowledgement of queued writes')
    assert.equal(await s.rest('GET', 'x'), 3)
  })

  test('admin and ordinary clients share one database', async t => {
    const { db, s } = admin(t)
    const client = s.client()
    const seen = new Log()
    db.ref('x').on('value', snap => seen.add(snap.val()))
    await set(ref(client, 'x'), 'from a client')
    await seen.reaches('from a client')
    const heard = values(ref(client, 'x'))
    await db.ref('x').set('from the admin')
    await heard.reaches('from the admin')
    db.ref('x').off()
  })

  test('a value of 5 MB', async t => {
    const { db, s } = admin(t)
    const text = '0123456789abcdef'.repeat((5 * 1024 * 1024) / 16)
    await within(db.ref('x').set(text), 'acknowledgement of 5 MB')
    assert.ok((await s.rest('GET', 'x')) === text)
    assert.ok((await db.ref('x').once('value')).val() === text)
  })
})
