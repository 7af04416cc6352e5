// onChildAdded, onChildChanged, onChildMoved and onChildRemoved, with the key
// of the sibling before.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import {
  onChildAdded, onValue, orderByChild, orderByKey, orderByValue, push, query, ref, remove, set,
  setPriority, setWithPriority, update
} from 'firebase/database'
import { children, fence, Log } from './events.mjs'
import { scene, sharedServer } from './harness.mjs'

suite('child events', () => {
  const server = sharedServer()

  test('what is there comes as added, in order, before the first value event', async t => {
    const s = scene(t, server)
    await set(ref(s.client(), 'x'), { b: 2, a: 1, 10: 'ten', 9: 'nine' })
    const db = s.client()
    const log = new Log()
    onChildAdded(ref(db, 'x'), (snap, previous) => log.add(`added ${snap.key} after ${previous}`))
    onValue(ref(db, 'x'), () => log.add('value'))
    await log.count(5)
    assert.deepEqual(log.items, [
      'added 9 after null', 'added 10 after 9', 'added a after 10', 'added b after a', 'value'
    ])
  })

  test('one change, one event, at every client', async t => {
    const s = scene(t, server)
    const writer = s.client()
    const other = s.client()
    await set(ref(writer, 'x'), { a: 1, c: { n: 1 } })
    const logs = [writer, other].map(db => children(ref(db, 'x')))
    await Promise.all(logs.map(log => log.count(2)))

    await set(ref(writer, 'x/b'), 2)
    await set(ref(writer, 'x/a'), 10)
    await set(ref(writer, 'x/c/m'), 2)
    await set(ref(writer, 'x/c/m'), 2) // changes nothing
    await remove(ref(writer, 'x/b'))
    await remove(ref(writer, 'x/nothing'))
    await fence(other)
    for (const log of logs) {
      assert.deepEqual(log.items, [
        'added a after null', 'added c after a',
        'added b after a', 'changed a after null', 'changed c after b', 'removed b'
      ])
    }
  })

  test('replacing the parent gives the differences only', async t => {
    const s = scene(t, server)
    const writer = s.client()
    const db = s.client()
    await set(ref(writer, 'x'), { a: 1, b: 2, c: 3 })
    const log = children(ref(db, 'x'))
    await log.count(3)
    await set(ref(writer, 'x'), { b: 2, c: 4, d: 5 })
    await fence(db)
    // Removals come first, then additions, then changes.
    assert.deepEqual(log.items.slice(3), ['removed a', 'added d after c', 'changed c after b'])
  })

  test('a new index value moves the child', async t => {
    const s = scene(t, server)
    const writer = s.client()
    const db = s.client()
    await set(ref(writer, 'x'), { a: { n: 1 }, b: { n: 2 }, c: { n: 3 } })
    const log = children(query(ref(db, 'x'), orderByChild('n')))
    await log.count(3)
    await set(ref(writer, 'x/a/n'), 9)
    await set(ref(writer, 'x/b/other'), true)
    await set(ref(writer, 'x/c/n'), 0)
    await fence(db)
    assert.deepEqual(log.items, [
      'added a after null', 'added b after a', 'added c after b',
      'moved a after c', 'changed a after c',
      'changed b after null',
      'moved c after null', 'changed c after null'
    ])
  })

  test('orders by value and by priority move, the order by key does not', async t => {
    const s = scene(t, server)
    const writer = s.client()
    const db = s.client()
    await set(ref(writer, 'x'), { a: 1, b: 2 })
    const byValue = children(query(ref(db, 'x'), orderByValue()))
    const byKey = children(query(ref(db, 'x'), orderByKey()))
    const byPriority = children(ref(db, 'x'))
    await Promise.all([byValue, byKey, byPriority].map(log => log.count(2)))
    await set(ref(writer, 'x/a'), 3)
    await setPriority(ref(writer, 'x/a'), 1)
    await setWithPriority(ref(writer, 'x/b'), 4, 2)
    await fence(db)
    assert.deepEqual(byKey.items.slice(2), [
      'changed a after null', 'changed a after null', 'changed b after a'
    ])
    assert.deepEqual(byValue.items.slice(2), [
      'moved a after b', 'changed a after b',
      'moved a after b', 'changed a after b', // to this client a priority is part of the value
      'moved b after a', 'changed b after a'
    ])
    assert.deepEqual(byPriority.items.slice(2), [
      'changed a after null', 'moved a after b', 'changed a after b', 'moved b after a', 'changed b after a'
    ])
  })

  test('one update gives one round of events', async t => {
    const s = scene(t, server)
    const writer = s.client()
    const db = s.client()
    await set(ref(writer, 'x'), { a: 1, b: 2 })
    const log = children(ref(db, 'x'))
    onValue(ref(db, 'x'), snap => log.add(`value ${Object.keys(snap.val()).join()}`))
    await log.count(3)
    await update(ref(writer, 'x'), { a: null, b: 3, c: 4, 'd/e': 5 })
    await fence(db)
    assert.deepEqual(log.items.slice(3), [
      'removed a', 'added c after b', 'added d after c', 'changed b after null', 'value b,c,d'
    ])
  })

  test('pushes of several clients arrive at all of them', async t => {
    const s = scene(t, server)
    const clients = [s.client(), s.client(), s.client()]
    const logs = clients.map(db => {
      const log = new Log()
      onChildAdded(ref(db, 'list'), snap => log.add(snap.val()))
      return log
    })
    await Promise.all(clients.flatMap((db, i) => [1, 2, 3, 4, 5].map(n => push(ref(db, 'list'), i * 10 + n))))
    const want = [1, 2, 3, 4, 5, 11, 12, 13, 14, 15, 21, 22, 23, 24, 25]
    for (const log of logs) {
      await log.count(want.length)
      assert.deepEqual(log.items.toSorted((a, b) => a - b), want)
    }
  })
})
