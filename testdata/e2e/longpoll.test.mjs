// The browser build: long polling alone, long polling that upgrades, and the
// plain WebSocket of a page.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { onChildAdded, ref, set } from 'firebase/database'
import { fence, Log, values, within } from './events.mjs'
import { proxyTo, scene, sharedServer } from './harness.mjs'
import { openPage, pageValues, plain } from './page.mjs'

// What a page leaves behind that was closed before its WebSocket had proved
// itself: the next visit starts with long polling.
const failedBefore = { 'firebase:previous_websocket_failure': 'true' }

suite('browser build', () => {
  const server = sharedServer()

  /** A page behind a proxy of its own, and the scene around it. */
  async function visit(t, options) {
    const s = scene(t, server)
    const proxy = await proxyTo(t, server)
    return { s, proxy, ...(await openPage(t, { url: proxy.url, ns: s.ns, ...options })) }
  }

  const paths = proxy => proxy.requests.items.map(({ url }) => url.pathname.replace(/\/$/, ''))
  const upgrade = proxy => proxy.requests.find(({ url }) => url.pathname.startsWith('/.ws'), 'the upgrade request')

  test('long polling alone does everything', async t => {
    const { s, proxy, db } = await visit(t, { forceLongPolling: true })
    const other = s.client()
    const seen = pageValues(db.ref('x'))
    const heard = values(ref(other, 'x'))
    await Promise.all([seen.reaches(null), heard.reaches(null)])

    await within(db.ref('x').set({ a: 1, text: 'ü 東京 😀 </script>\u2028' }), 'acknowledgement')
    await heard.reaches({ a: 1, text: 'ü 東京 😀 </script>\u2028' })
    await set(ref(other, 'x'), { b: '</script><!-- \u2028\u2029 😀' })
    await seen.reaches({ b: '</script><!-- \u2028\u2029 😀' })

    const { committed, snapshot } = await within(db.ref('n').transaction(n => (n ?? 0) + 1), 'transaction')
    assert.deepEqual([committed, snapshot.val()], [true, 1])
    await s.rest('PUT', 'list', { a: 3, b: 1, c: 2 })
    const first = await within(db.ref('list').orderByValue().limitToFirst(2).once('value'), 'query')
    assert.deepEqual(plain(first.val()), { b: 1, c: 2 })
    assert.deepEqual([...new Set(paths(proxy))], ['/.lp'])
  })

  test('long messages travel in pieces, in order', async t => {
    const { s, proxy, db } = await visit(t, { forceLongPolling: true })
    const other = s.client()
    const text = 'ü東京😀'.repeat(1500)
    const added = new Log()
    onChildAdded(ref(other, 'list'), snap => added.add(snap.val()))
    await fence(other)
    const writes = [1, 2, 3].map(n => db.ref(`list/k${n}`).set(n + text))
    await within(Promise.all(writes), 'acknowledgements')
    await added.count(3)
    assert.ok(added.items.every((item, i) => item === i + 1 + text), 'the same texts, in order')
    const segments = proxy.requests.items.flatMap(({ url }) => [...url.searchParams.keys()].filter(key => /^seg\d/.test(key)))
    assert.ok(segments.length > 20, `${segments.length} segments`)

    const big = 'z'.repeat(500_000)
    const seen = pageValues(db.ref('big'))
    await s.rest('PUT', 'big', big)
    await seen.until(items => items.at(-1) === big, '500 kB')
  })

  test('a burst of writes both ways keeps its order', async t => {
    const { s, db } = await visit(t, { forceLongPolling: true })
    const other = s.client()
    const here = pageValues(db.ref('theirs'))
    const there = values(ref(other, 'ours'))
    await Promise.all([here.reaches(null), there.reaches(null)])
    const numbers = Array.from({ length: 40 }, (_, i) => i)
    await within(Promise.all(numbers.flatMap(n => [
      db.ref('ours').set(n), set(ref(other, 'theirs'), n)
    ])), 'acknowledgements')
    await Promise.all([here.reaches(39), there.reaches(39)])
    assert.deepEqual(here.items, [null, ...numbers])
    assert.deepEqual(there.items, [null, ...numbers])
  })

  test('a page that is left runs its onDisconnect', async t => {
    const s = scene(t, server)
    // No proxy: the farewell may block this process until it is answered.
    const { window, db } = await openPage(t, { url: server.url, ns: s.ns, forceLongPolling: true })
    const seen = values(ref(s.client(), 'online'))
    await within(db.ref('online').onDisconnect().set(false), 'acknowledgement')
    await within(db.ref('online').set(true), 'acknowledgement')
    await seen.reaches(true)
    // A browser tells each frame of a page that is left; jsdom does not.
    const frame = await farewellFrame(window)
    frame.dispatchEvent(new frame.Event('pagehide'))
    frame.dispatchEvent(new frame.Event('unload'))
    await seen.reaches(false)
  })

  test('after a failure it starts on long polling and upgrades', async t => {
    const { s, proxy, window, db } = await visit(t, { storage: failedBefore })
    const other = s.client()
    const seen = pageValues(db.ref('x'))
    const connected = pageValues(db.ref('.info/connected'))
    await seen.reaches(null)

    const { url, conn } = await upgrade(proxy)
    assert.equal(paths(proxy)[0], '/.lp', 'the first request')
    assert.ok(url.searchParams.get('s'), 'the upgrade names its session')
    assert.equal(url.searchParams.get('v'), '5')

    // The first data on the socket says that the switch is done.
    const onSocket = from => proxy.messages.find(
      m => m.conn === conn && m.from === from && m.type === 'd', `data of the ${from} on the socket`
    )
    await within(db.ref('x').set('by the page'), 'acknowledgement')
    await values(ref(other, 'x')).reaches('by the page')
    const deliver = async () => {
      for (let n = 0; !proxy.messages.items.some(m => m.conn === conn && m.type === 'd'); n++) {
        await within(db.ref('x').set(n), 'acknowledgement')
      }
    }
    await deliver()
    await Promise.all([onSocket('client'), onSocket('server')])
    await set(ref(other, 'x'), 'by another')
    await seen.reaches('by another')

    const controls = proxy.messages.items.filter(m => m.conn === conn && m.type === 'c').map(m => m.from[0] + m.body.t)
    assert.deepEqual(controls.slice(0, 6), ['sa', 'cp', 'so', 'cp', 'so', 'ca'], 'the handshake of the switch')
    assert.deepEqual(connected.items, [false, true], 'the application notices nothing')
    assert.equal(window.localStorage.getItem('firebase:previous_websocket_failure'), null, 'the next visit starts normally')
  })

  test('nothing is lost or doubled while it upgrades', async t => {
    const { s, proxy, db } = await visit(t, { storage: failedBefore })
    const other = s.client()
    const here = pageValues(db.ref('theirs'))
    const there = new Log()
    onChildAdded(ref(other, 'ours'), snap => there.add(snap.val()))
    await here.reaches(null)
    // Both sides write without pause from the first poll until well after the
    // first data on the socket.
    const upgraded = () => proxy.messages.items.some(m => m.from === 'server' && m.type === 'd')
    let count = 0
    for (let after = 0; after < 10; after += upgraded() ? 1 : 0) {
      const n = ++count
      await within(Promise.all([db.ref('ours').push(n), set(ref(other, 'theirs'), n)]), `write ${n} on both sides`)
    }
    await here.reaches(count)
    await there.count(count)
    const numbers = Array.from({ length: count }, (_, i) => i + 1)
    assert.deepEqual(there.items, numbers)
    assert.deepEqual(here.items, [null, ...numbers])
  })

  test('onDisconnect of an upgraded page runs when its socket is cut', async t => {
    const { s, proxy, db } = await visit(t, { storage: failedBefore })
    const seen = values(ref(s.client(), 'online'))
    await within(db.ref('online').onDisconnect().set(false), 'acknowledgement')
    await within(db.ref('online').set(true), 'acknowledgement')
    await proxy.messages.find(m => m.from === 'client' && m.type === 'c' && m.body.t === 'a', 'the switch')
    await within(db.ref('x').set(1), 'acknowledgement after the switch')

    // A browser now removes the polling frames, and that of the farewell says
    // goodbye for the polling. It must not count: the session lives on.
    const { url } = proxy.requests.items.find(({ url }) => url.searchParams.has('dframe'))
    url.searchParams.delete('dframe')
    url.searchParams.set('disconn', 't')
    await within(fetch(new URL(url.pathname + url.search, server.url)), 'answer to the farewell')
    await within(db.ref('x').set(2), 'acknowledgement after the farewell')
    assert.equal(await s.rest('GET', 'online'), true, 'the session lives on')
    proxy.refuse()
    proxy.cut()
    await seen.reaches(false)
  })

  test('a first visit uses a WebSocket and nothing else', async t => {
    const { s, proxy, db, window } = await visit(t)
    const seen = pageValues(db.ref('x'))
    await seen.reaches(null)
    await set(ref(s.client(), 'x'), { text: 'ü 😀' })
    await seen.reaches({ text: 'ü 😀' })
    assert.deepEqual([...new Set(paths(proxy))], ['/.ws'])
    assert.equal(proxy.requests.items[0].headers.origin, 'http://localhost:5000')
    // Two answers make it healthy; the next visit will do the same.
    await within(db.ref('x').set(1), 'acknowledgement')
    assert.equal(window.localStorage.getItem('firebase:previous_websocket_failure'), null)
  })

  test('without a proxy, with the compression that browsers offer', async t => {
    const s = scene(t, server)
    const { db } = await openPage(t, { url: server.url, ns: s.ns })
    const seen = pageValues(db.ref('x'))
    await seen.reaches(null)
    const value = Object.fromEntries(Array.from({ length: 2000 }, (_, i) => [`k${i}`, 'same text '.repeat(10)]))
    await within(db.ref('x').set(value), 'acknowledgement')
    await set(ref(s.client(), 'x/k0'), 'changed')
    await seen.reaches({ ...value, k0: 'changed' })
  })
})

// farewellFrame finds the hidden frame whose page tells the server goodbye.
async function farewellFrame(window) {
  const frames = [...window.document.querySelectorAll('iframe')]
  const frame = frames.find(({ src }) => src.includes('dframe='))
  assert.ok(frame, 'a frame for the farewell')
  const { contentWindow } = frame
  if (contentWindow.document.readyState !== 'complete') {
    await within(new Promise(resolve => contentWindow.addEventListener('load', resolve)), 'load of the farewell frame')
  }
  return contentWindow
}
