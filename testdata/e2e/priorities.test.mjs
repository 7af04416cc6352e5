// Priorities: the second value every node may have.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import {
  get, onChildMoved, onDisconnect, goOffline, orderByPriority, query, ref, set, setPriority,
  setWithPriority, update
} from 'firebase/database'
import { fence, keys, Log, values } from './events.mjs'
import { scene, sharedServer } from './harness.mjs'

suite('priorities', () => {
  const server = sharedServer()

  test('they are kept with plain values and with objects', async t => {
    const s = scene(t, server)
    const db = s.client()
    await setWithPriority(ref(db, 'x/leaf'), 'v', 5)
    await setWithPriority(ref(db, 'x/object'), { a: 1 }, 'hi')
    await set(ref(db, 'x/inside'), { '.priority': -1.5, b: { '.value': 2, '.priority': 'p' } })
    const want = {
      leaf: { '.value': 'v', '.priority': 5 },
      object: { a: 1, '.priority': 'hi' },
      inside: { '.priority': -1.5, b: { '.value': 2, '.priority': 'p' } }
    }
    const snap = await get(ref(s.client(), 'x'))
    assert.deepEqual(snap.exportVal(), want)
    assert.equal(snap.child('leaf').priority, 5)
    assert.deepEqual(await s.rest('GET', 'x', undefined, { format: 'export' }), want)
    assert.deepEqual(await s.rest('GET', 'x'), { leaf: 'v', object: { a: 1 }, inside: { b: 2 } })
  })

  test('siblings come in their order: none, numbers, texts, then by key', async t => {
    const s = scene(t, server)
    await s.rest('PUT', 'x', {
      a: { '.priority': 'b', '.value': 1 }, b: { '.priority': 2, '.value': 1 }, c: 1,
      d: { '.priority': 10, '.value': 1 }, e: { '.priority': 'a', '.value': 1 }, f: 1,
      g: { '.priority': -1, '.value': 1 }, h: { '.priority': 2, '.value': 1 }
    })
    const want = ['c', 'f', 'g', 'b', 'h', 'd', 'e', 'a']
    const db = s.client()
    assert.deepEqual(keys(await get(ref(db, 'x'))), want)
    await values(query(ref(db, 'x'), orderByPriority()), keys).reaches(want)
  })

  test('setPriority moves a child and leaves its value', async t => {
    const s = scene(t, server)
    const writer = s.client()
    const db = s.client()
    await set(ref(writer, 'x'), { a: 1, b: { c: 2 } })
    const seen = values(ref(db, 'x'), keys)
    const moved = new Log()
    onChildMoved(ref(db, 'x'), (snap, previous) => moved.add([snap.key, snap.priority, previous]))
    await seen.reaches(['a', 'b'])
    await setPriority(ref(writer, 'x/a'), 1)
    await seen.reaches(['b', 'a'])
    await setPriority(ref(writer, 'x/b'), 'z')
    await seen.reaches(['a', 'b'])
    await setPriority(ref(writer, 'x/b'), null)
    await seen.reaches(['b', 'a'])
    assert.deepEqual(moved.items, [['a', 1, 'b'], ['b', 'z', 'a'], ['b', null, null]])
    assert.deepEqual(await s.rest('GET', 'x', undefined, { format: 'export' }), {
      a: { '.value': 1, '.priority': 1 }, b: { c: 2 }
    })
  })

  test('set clears, update and a write below keep', async t => {
    const s = scene(t, server)
    const db = s.client()
    const priority = async () => (await get(ref(s.client(), 'x'))).priority
    await setWithPriority(ref(db, 'x'), { a: 1 }, 3)
    await set(ref(db, 'x/b'), 2)
    assert.equal(await priority(), 3)
    await update(ref(db, 'x'), { c: 3 })
    assert.equal(await priority(), 3)
    await set(ref(db, 'x'), { d: 4 })
    assert.equal(await priority(), null)

    await setWithPriority(ref(db, 'x'), 'leaf', 4)
    await set(ref(db, 'x/below'), 1)
    assert.equal(await priority(), 4, 'a plain value that becomes an object')
  })

  test('nothing has no priority', async t => {
    const s = scene(t, server)
    const db = s.client()
    await setPriority(ref(db, 'nothing'), 1)
    await setWithPriority(ref(db, 'x'), null, 1)
    assert.equal((await get(ref(s.client(), '/'))).child('nothing').exists(), false)
    assert.equal(await s.rest('GET', 'x', undefined, { format: 'export' }), null)

    await setWithPriority(ref(db, 'y'), { a: 1 }, 1)
    await set(ref(db, 'y/a'), null)
    await set(ref(db, 'y/b'), 1)
    assert.equal((await get(ref(s.client(), 'y'))).priority, null, 'gone with the last child')
  })

  test('an update may carry and change priorities', async t => {
    const s = scene(t, server)
    const db = s.client()
    await set(ref(db, 'x'), { a: 1, b: 2 })
    const seen = values(ref(s.client(), 'x'), snap => snap.exportVal())
    await seen.count(1)
    await update(ref(db, 'x'), { a: { '.value': 1, '.priority': 9 }, 'b/.priority': 4 })
    await seen.reaches({ a: { '.value': 1, '.priority': 9 }, b: { '.value': 2, '.priority': 4 } })
    assert.equal(seen.items.length, 2)
  })

  test('REST reads and writes a single priority', async t => {
    const s = scene(t, server)
    const db = s.client()
    await set(ref(db, 'x'), { a: 1 })
    const seen = values(ref(db, 'x'), snap => snap.priority)
    await seen.reaches(null)
    await s.rest('PUT', 'x/.priority', 12)
    await seen.reaches(12)
    assert.equal(await s.rest('GET', 'x/.priority'), 12)
  })

  test('onDisconnect sets value and priority', async t => {
    const s = scene(t, server)
    const db = s.client()
    const other = s.client()
    const seen = values(ref(other, 'x'), snap => snap.exportVal())
    await seen.reaches(null)
    await onDisconnect(ref(db, 'x')).setWithPriority('gone', 5)
    goOffline(db)
    await seen.reaches({ '.value': 'gone', '.priority': 5 })
    await fence(other)
    assert.equal(seen.items.length, 2)
  })
})
