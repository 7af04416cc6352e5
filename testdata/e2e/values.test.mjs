// What is written is what is read: by the writer, by another client with an
// empty cache, and by one that listens.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { deleteApp, initializeApp } from 'firebase/app'
import {
  connectDatabaseEmulator, get, getDatabase, onValue, push, ref, remove, set
} from 'firebase/database'
import { children, fence, keys, Log, values, within } from './events.mjs'
import { freshNamespace, scene, sharedServer } from './harness.mjs'
import { compareKeys } from './reference.mjs'

const samples = {
  true: true,
  false: false,
  zero: 0,
  one: 1,
  negative: -17,
  fraction: 0.1,
  large: 1e21,
  'smallest double': 5e-324,
  'largest double': Number.MAX_VALUE,
  'largest exact integer': Number.MAX_SAFE_INTEGER,
  'int32 limits': { a: 2147483647, b: -2147483648, c: 2147483648 },
  'empty text': '',
  text: 'hello',
  'quotes and escapes': '"\\/\b\f\n\r\t\u0001',
  'markup and separators': '<script>&\u2028\u2029</script>',
  unicode: 'äß東京 👩‍👩‍👧 \ue000\uffff',
  nested: { a: { b: { c: [1, { d: 'x' }] } } },
  list: ['a', 'b', 'c'],
  'list of lists': [[1, 2], [3]],
  'odd keys': { 'a b': 1, ü: 2, '"': 3, "'": 4, '<&>': 5, '😀': 6, '-1': 7, '+': 8, '%41': 9 }
}

suite('values', () => {
  const server = sharedServer()

  test('every kind of value comes back unchanged', async t => {
    const s = scene(t, server)
    const writer = s.client()
    const listener = s.client()
    const reader = s.client()
    const seen = values(ref(listener, 'v'))
    await seen.reaches(null)
    for (const [name, value] of Object.entries(samples)) {
      await within(set(ref(writer, 'v'), value), `acknowledgement of ${name}`)
      await seen.reaches(value, `event with ${name}`)
      assert.deepEqual((await get(ref(writer, 'v'))).val(), value, `${name}, read by the writer`)
      assert.deepEqual((await get(ref(reader, 'v'))).val(), value, `${name}, read by another client`)
      assert.deepEqual(await s.rest('GET', 'v'), value, `${name}, over REST`)
    }
  })

  test('nulls and empty branches leave nothing behind', async t => {
    const s = scene(t, server)
    const a = s.client()
    const b = s.client()
    await set(ref(a, 'x'), { keep: 1, none: null, empty: {}, deep: { list: [] } })
    assert.deepEqual((await get(ref(b, 'x'))).val(), { keep: 1 })

    await set(ref(a, 'x'), { p: { q: { r: 1 } } })
    await remove(ref(a, 'x/p/q/r'))
    const snap = await get(ref(b, 'x'))
    assert.equal(snap.exists(), false)
    assert.equal(snap.val(), null)
  })

  test('a write below a plain value replaces it by an object', async t => {
    const s = scene(t, server)
    const a = s.client()
    await set(ref(a, 'x'), 'plain')
    await set(ref(a, 'x/y/z'), 1)
    assert.deepEqual((await get(ref(s.client(), 'x'))).val(), { y: { z: 1 } })

    await set(ref(a, 'x'), 'plain')
    await set(ref(a, 'x/y/z'), null)
    assert.equal((await get(ref(s.client(), 'x'))).val(), 'plain')
  })

  test('objects with dense integer keys read as lists', async t => {
    const s = scene(t, server)
    await set(ref(s.client(), 'x'), {
      full: { 0: 'a', 1: 'b', 2: 'c' },
      holes: { 0: 'a', 1: 'b', 3: 'd' },
      sparse: { 0: 'a', 9: 'b' },
      padded: { '00': 'a', '01': 'b' }
    })
    assert.deepEqual((await get(ref(s.client(), 'x'))).val(), {
      full: ['a', 'b', 'c'],
      holes: ['a', 'b', , 'd'], // this client leaves a gap where REST says null
      sparse: { 0: 'a', 9: 'b' },
      padded: { '00': 'a', '01': 'b' }
    })
  })

  test('children come in key order: integers by number, then UTF-16', async t => {
    const s = scene(t, server)
    const names = [
      '10', '9', '-5', '0', '007', '7', '2147483647', '2147483648', '-2147483648', '99999999999',
      'a', 'B', 'ab', 'Z', '_', 'é', '😀', '\uffee', '-', '--', '1a', ' '
    ]
    await set(ref(s.client(), 'x'), Object.fromEntries(names.map(name => [name, true])))
    const want = names.toSorted(compareKeys)
    assert.deepEqual(keys(await get(ref(s.client(), 'x'))), want)
    const seen = values(ref(s.client(), 'x'), keys)
    await seen.reaches(want)
  })

  test('a snapshot answers for its children', async t => {
    const s = scene(t, server)
    await set(ref(s.client(), 'x'), { a: { b: 1 }, c: 'text' })
    const snap = await get(ref(s.client(), 'x'))
    assert.equal(snap.key, 'x')
    assert.equal(snap.size, 2)
    assert.equal(snap.hasChildren(), true)
    assert.equal(snap.hasChild('a/b'), true)
    assert.equal(snap.hasChild('a/z'), false)
    assert.equal(snap.child('a/b').val(), 1)
    assert.deepEqual(snap.exportVal(), { a: { b: 1 }, c: 'text' })
  })

  test('the deepest path and the longest key are kept', async t => {
    const s = scene(t, server)
    const path = Array.from({ length: 31 }, (_, i) => `k${i}`).join('/')
    await set(ref(s.client(), path), 'deep')
    assert.equal((await get(ref(s.client(), path))).val(), 'deep')

    const key = 'x'.repeat(766)
    await set(ref(s.client(), key), 'long')
    assert.equal((await get(ref(s.client(), key))).val(), 'long')
  })

  test('push makes keys that sort by time', async t => {
    const s = scene(t, server)
    const db = s.client()
    const made = []
    for (let i = 0; i < 10; i++) made.push((await push(ref(db, 'list'), i)).key)
    for (const key of made) assert.match(key, /^[-0-9A-Z_a-z]{20}$/)
    const snap = await get(ref(s.client(), 'list'))
    assert.deepEqual(keys(snap), made)
    assert.deepEqual(Object.values(snap.val()), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  })

  test('a writer sees its own write once, before the acknowledgement', async t => {
    const s = scene(t, server)
    const { db, proxy } = await s.proxied()
    const seen = values(ref(db, 'x'))
    await seen.reaches(null)
    proxy.delay(20) // a gap between the local event and the answer
    await set(ref(db, 'x'), { n: 1 })
    await set(ref(db, 'x/n'), 2)
    await fence(db)
    assert.deepEqual(seen.items, [null, { n: 1 }, { n: 2 }])
    const answers = proxy.messages.items.filter(m => m.from === 'server' && m.type === 'd').map(m => m.body)
    const firstData = answers.findIndex(m => m.a === 'd' && m.b.d?.n === 1)
    const put = proxy.messages.items.find(m => m.from === 'client' && m.body.a === 'p').body
    const firstAck = answers.findIndex(m => m.r === put.r)
    assert.ok(firstData >= 0 && firstData < firstAck, 'data before the acknowledgement')
  })

  test('all listeners of a place hear a change, none elsewhere does', async t => {
    const s = scene(t, server)
    const writer = s.client()
    const db = s.client()
    const above = values(ref(db, '/'), snap => snap.child('a/b/c').val())
    const here = values(ref(db, 'a/b'))
    const below = values(ref(s.client(), 'a/b/c'))
    const otherClient = s.client()
    const beside = values(ref(otherClient, 'a/x'))
    await Promise.all([above, here, below, beside].map(log => log.count(1)))
    await set(ref(writer, 'a/b/c'), 1)
    await Promise.all([above.reaches(1), here.reaches({ c: 1 }), below.reaches(1)])
    await remove(ref(writer, 'a'))
    await Promise.all([above.reaches(null), here.reaches(null), below.reaches(null)])
    await fence(otherClient)
    assert.deepEqual(beside.items, [null])
  })

  test('an ended listener hears nothing, onlyOnce hears one', async t => {
    const s = scene(t, server)
    const writer = s.client()
    const db = s.client()
    const stopped = values(ref(db, 'x'))
    const once = new Log()
    onValue(ref(db, 'x'), snap => once.add(snap.val()), { onlyOnce: true })
    await stopped.reaches(null)
    await once.count(1)
    stopped.stop()
    await set(ref(writer, 'x'), 1)
    await fence(db)
    assert.deepEqual(stopped.items, [null])
    assert.deepEqual(once.items, [null])
    await values(ref(db, 'x')).reaches(1)
  })

  test('when the listener above ends, the one below goes on', async t => {
    const s = scene(t, server)
    const writer = s.client()
    const db = s.client()
    const above = values(ref(db, 'a'))
    const below = values(ref(db, 'a/b'))
    await above.reaches(null)
    await below.reaches(null)
    above.stop()
    await set(ref(writer, 'a/b'), 1)
    await below.reaches(1)
    assert.deepEqual(above.items, [null])
  })

  test('namespaces are separate worlds', async t => {
    const one = scene(t, server)
    const two = scene(t, server)
    const stranger = two.client()
    const seen = children(ref(stranger, '/'))
    await set(ref(one.client(), 'x'), 1)
    await fence(stranger)
    assert.deepEqual(seen.items, ['added fence after null'])
    assert.equal((await get(ref(stranger, 'x'))).val(), null)
    assert.equal((await get(ref(scene(t, server, one.ns.toUpperCase()).client(), 'x'))).val(), 1, 'names have no case')
  })

  test('connectDatabaseEmulator reaches the server as users write it', async t => {
    const ns = freshNamespace()
    const app = initializeApp({ projectId: ns, databaseURL: `https://${ns}.firebaseio.com` }, ns)
    t.after(() => deleteApp(app))
    const db = getDatabase(app)
    connectDatabaseEmulator(db, '127.0.0.1', server.port, { mockUserToken: { user_id: 'ana' } })
    await within(set(ref(db, 'x'), 1), 'acknowledgement')
    assert.equal(await scene(t, server, ns).rest('GET', 'x'), 1)
  })
})
