// onDisconnect: writes that the server keeps and carries out when the client
// is gone, however it went.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { goOffline, goOnline, increment, onDisconnect, ref, set } from 'firebase/database'
import { fence, values } from './events.mjs'
import { durableServer, leave, proxyTo, scene, sharedServer } from './harness.mjs'

suite('onDisconnect', () => {
  const server = sharedServer()

  test('runs when the client says goodbye', async t => {
    const s = scene(t, server)
    const db = s.client()
    const seen = values(ref(s.client(), 'x'))
    await set(ref(db, 'x'), 'here')
    await onDisconnect(ref(db, 'x')).set('gone')
    await seen.reaches('here')
    goOffline(db)
    await seen.reaches('gone')
    assert.deepEqual(seen.items.slice(-2), ['here', 'gone'])
  })

  test('runs when the app is deleted', async t => {
    const s = scene(t, server)
    const db = s.client()
    const seen = values(ref(s.client(), 'x'))
    await onDisconnect(ref(db, 'x')).set('gone')
    await leave(db.app)
    await seen.reaches('gone')
  })

  test('runs when the line is cut', async t => {
    const s = scene(t, server)
    const { db, proxy } = await s.proxied()
    const seen = values(ref(s.client(), 'x'))
    await set(ref(db, 'x'), { keep: 1, drop: 2, change: 3 })
    await onDisconnect(ref(db, 'x')).update({ drop: null, change: 4, 'add/deep': 5 })
    await seen.reaches({ keep: 1, drop: 2, change: 3 })
    proxy.refuse()
    proxy.cut()
    await seen.reaches({ keep: 1, change: 4, add: { deep: 5 } })
  })

  test('runs before a client that was only silent is welcomed back', async t => {
    const s = scene(t, server)
    const { db, proxy } = await s.proxied()
    const connected = values(ref(db, '.info/connected'))
    const seen = values(ref(s.client(), 'online'))
    await onDisconnect(ref(db, 'online')).set(false)
    await set(ref(db, 'online'), true)
    await seen.reaches(true)

    // The server cannot know that the old connection is dead. The new one says
    // whose successor it is, so its writes must come after the old farewell.
    proxy.silence()
    goOffline(db)
    await connected.reaches(false)
    const back = set(ref(db, 'online'), 'again')
    goOnline(db)
    await back
    await seen.reaches('again')
    assert.deepEqual(seen.items.slice(-3), [true, false, 'again'])
    const { url } = proxy.requests.last
    const hello = proxy.messages.items.find(m => m.type === 'c' && m.body.t === 'h')
    assert.equal(url.searchParams.get('ls'), hello.body.d.s)
  })

  test('runs once, and not for the next connection', async t => {
    const s = scene(t, server)
    const db = s.client()
    const other = s.client()
    const seen = values(ref(other, 'n'))
    await seen.reaches(null)
    await onDisconnect(ref(db, 'n')).set(increment(1))
    goOffline(db)
    await seen.reaches(1)
    goOnline(db)
    await fence(db)
    goOffline(db)
    goOnline(db)
    await fence(db)
    await fence(other)
    assert.deepEqual(seen.items, [null, 1])
  })

  test('registering changes nothing yet', async t => {
    const s = scene(t, server)
    const db = s.client()
    const seen = values(ref(s.client(), 'x'))
    await set(ref(db, 'x'), 1)
    await seen.reaches(1)
    await onDisconnect(ref(db, 'x')).remove()
    assert.equal(await s.rest('GET', 'x'), 1)
    goOffline(db)
    await seen.reaches(null)
  })

  test('the last registration for a place counts, cancel takes it back', async t => {
    const s = scene(t, server)
    const db = s.client()
    await set(ref(db, '/'), { a: 1, b: 1, c: { x: 1, y: 1 } })
    await onDisconnect(ref(db, 'a')).set('first')
    await onDisconnect(ref(db, 'a')).set('second')
    await onDisconnect(ref(db, 'b')).set('never')
    await onDisconnect(ref(db, 'b')).cancel()
    await onDisconnect(ref(db, 'c/x')).set('never')
    await onDisconnect(ref(db, 'c/y')).set('never')
    await onDisconnect(ref(db, 'c')).cancel()
    await onDisconnect(ref(db, 'end')).set(true)
    const seen = values(ref(s.client(), '/'))
    goOffline(db)
    await seen.reaches({ a: 'second', b: 1, c: { x: 1, y: 1 }, end: true })
  })

  test('cancel below a registered value leaves the rest of it', async t => {
    const s = scene(t, server)
    const db = s.client()
    await set(ref(db, 'x'), { old: true, c: 'orig' })
    await onDisconnect(ref(db, 'x')).set({ p: true, c: 'pc' })
    await onDisconnect(ref(db, 'x/c')).set('child')
    await onDisconnect(ref(db, 'x/c')).cancel()
    const seen = values(ref(s.client(), 'x'))
    goOffline(db)
    await seen.reaches({ old: true, c: 'orig', p: true })
  })

  test('a registration below another becomes part of it', async t => {
    const s = scene(t, server)
    const db = s.client()
    await set(ref(db, 'x'), { old: true })
    await onDisconnect(ref(db, 'x')).set({ p: true, c: 'pc' })
    await onDisconnect(ref(db, 'x/c')).set('child')
    const seen = values(ref(s.client(), 'x'))
    goOffline(db)
    await seen.reaches({ p: true, c: 'child' })
  })

  test('registered offline, it holds from the next connection on', async t => {
    const s = scene(t, server)
    const db = s.client()
    const seen = values(ref(s.client(), 'x'))
    await fence(db)
    goOffline(db)
    const registered = onDisconnect(ref(db, 'x')).set('gone')
    goOnline(db)
    await registered
    assert.equal(await s.rest('GET', 'x'), null)
    goOffline(db)
    await seen.reaches('gone')
  })

  test('20 clients come and go, and presence is right in the end', async t => {
    const s = scene(t, server)
    const seen = values(ref(s.client(), 'online'))
    const clients = await Promise.all(Array.from({ length: 20 }, () => s.proxied()))
    await Promise.all(clients.map(async ({ db }, i) => {
      await onDisconnect(ref(db, `online/c${i}`)).remove()
      await set(ref(db, `online/c${i}`), true)
    }))
    await seen.until(items => Object.keys(items.at(-1) ?? {}).length === 20, '20 clients online')
    clients.forEach(({ db, proxy }, i) => {
      if (i % 3 === 0) goOffline(db)
      if (i % 3 === 1) {
        proxy.refuse()
        proxy.cut()
      }
    })
    const rest = clients.flatMap((_, i) => (i % 3 === 2 ? [`c${i}`] : []))
    await seen.reaches(Object.fromEntries(rest.map(key => [key, true])))
  })

  test('runs once after the server was killed', async t => {
    const durable = await durableServer(t)
    const s = scene(t, durable)
    const proxy = await proxyTo(t, durable)
    const lost = s.client(proxy)
    await set(ref(lost, 'x'), { n: 1, online: true })
    await onDisconnect(ref(lost, 'x')).update({ n: increment(1), online: false })
    proxy.refuse() // the client does not come back

    await durable.kill()
    await durable.start()
    const other = s.client()
    const seen = values(ref(other, 'x'))
    await seen.reaches({ n: 2, online: false })

    await durable.kill()
    await durable.start()
    await fence(other)
    assert.deepEqual(await s.rest('GET', 'x'), { n: 2, online: false })
  })

  test('runs when the server is stopped in order', async t => {
    const durable = await durableServer(t)
    const s = scene(t, durable)
    const proxy = await proxyTo(t, durable)
    const lost = s.client(proxy)
    await set(ref(lost, 'n'), 1)
    await onDisconnect(ref(lost, 'n')).set(increment(1))
    proxy.refuse()
    await durable.stop()
    await durable.start()
    const other = s.client()
    await values(ref(other, 'n')).reaches(2)
    await fence(other)
    assert.equal(await s.rest('GET', 'n'), 2)
  })
})
