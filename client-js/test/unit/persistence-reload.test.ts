// The first events after a page is loaded again.

import { expect, test } from 'vitest'
import * as client from '../../src/index.js'
import { eventually } from '../support/eventually.js'
import { seen } from '../support/seen.js'
import { disks, nobodyHears, ns, page, server, type Tab } from '../support/tabs.js'

/** The child events of a query, with the key before; and its values. */
function told(query: client.Query) {
  const told: string[] = []
  const values: unknown[] = []
  client.onChildRemoved(query, ({ key }) => told.push(`-${key}`))
  client.onChildAdded(query, ({ key }, previous) => told.push(`${previous ?? ''}<${key}`))
  client.onChildChanged(query, ({ key }, previous) => told.push(`${previous ?? ''}~${key}`))
  client.onValue(query, snapshot => {
    const keys: string[] = []
    snapshot.forEach(({ key }) => void keys.push(key))
    values.push(keys.join(' '))
  })
  return { told, values }
}

/** A page that was loaded anew, offline, after the other one has seen `rooms` and written. */
async function reloaded(
  queries: (db: client.Database) => client.Query[],
  work: (db: client.Database) => void
): Promise<Tab> {
  const disk = disks()
  await server.rest(ns, 'PUT', '/rooms', { a: { n: 2 }, b: { n: 4 }, d: { n: 6 } })
  const first = await page(disk)
  for (const query of queries(first.db)) {
    await new Promise<void>(resolve => client.onValue(query, () => resolve()))
  }
  client.goOffline(first.db)
  work(first.db)
  await first.persistence.flush()
  first.crash()
  return page(disk, {}, false)
}

const byN = (db: client.Database, ...more: client.QueryConstraint[]) =>
  client.query(client.ref(db, 'rooms'), client.orderByChild('n'), ...more)

const orders: [name: string, query: (db: client.Database) => client.Query, told: string[], value: string][] =
  [
    ['all', db => client.ref(db, 'rooms'), ['<a', 'a<b', 'b<c', 'c<e'], 'a b c e'],
    ['by a child', db => byN(db), ['<e', 'e<b', 'b<c', 'c<a'], 'e b c a'],
    ['the last of them', db => byN(db, client.limitToLast(2)), ['<c', 'c<a'], 'c a'],
    ['the first of them', db => byN(db, client.limitToFirst(2)), ['<e', 'e<b'], 'e b'],
    ['a range', db => byN(db, client.startAt(4), client.endAt(5)), ['<b', 'b<c'], 'b c']
  ]

for (const [name, query, expected, value] of orders) {
  test(`the first view after a reload has what was cached and what waits, in order: ${name}`, async () => {
    const { db } = await reloaded(
      db => [query(db)],
      db => {
        const rooms = client.ref(db, 'rooms')
        void client.set(client.child(rooms, 'c'), { n: 5 }).catch(nobodyHears)
        void client.set(client.child(rooms, 'e'), { n: 1 }).catch(nobodyHears)
        void client.update(rooms, { a: { n: 7 }, 'b/m': 1, d: null }).catch(nobodyHears)
      }
    )
    const { told: heard, values } = told(query(db))
    await eventually(() => expect(values).not.toEqual([]))
    expect(values).toEqual([value])
    expect(heard).toEqual(expected)
  })
}

test('a write made while the disk is read is in the first view', async () => {
  const { db } = await reloaded(
    db => [client.ref(db, 'rooms')],
    () => {}
  )
  const { told: heard, values } = told(client.ref(db, 'rooms'))
  void client.set(client.ref(db, 'rooms/c'), 1).catch(nobodyHears)
  await eventually(() => expect(values).not.toEqual([]))
  expect([values, heard]).toEqual([['a b c d'], ['<a', 'a<b', 'b<c', 'c<d']])
  void client.set(client.ref(db, 'rooms/e'), 1).catch(nobodyHears)
  expect(heard.at(-1), 'at once').toBe('d<e')
})

test('listeners below wait for the view that has what they show', async () => {
  const { db } = await reloaded(
    db => [client.ref(db, 'rooms')],
    db => void client.set(client.ref(db, 'rooms/b/m'), 1).catch(nobodyHears)
  )
  const all = told(client.ref(db, 'rooms'))
  const below = told(client.ref(db, 'rooms/b'))
  await eventually(() => expect(below.values).not.toEqual([]))
  expect([below.values, below.told]).toEqual([['m n'], ['<m', 'm<n']])
  expect(all.values).toEqual(['a b d'])
})

test('saved data is in the first view even if a child of it is listened to already', async () => {
  const { db } = await reloaded(
    db => [client.ref(db, 'rooms/b'), client.ref(db, 'rooms')],
    db => void client.set(client.ref(db, 'rooms/c'), 1).catch(nobodyHears)
  )
  await seen(db, client.ref(db, 'rooms/b')).until({ n: 4 })
  const { told: heard, values } = told(client.ref(db, 'rooms'))
  const last = told(byN(db, client.limitToLast(1)))
  await eventually(() => expect(values).not.toEqual([]))
  expect([values, heard]).toEqual([['a b c d'], ['<a', 'a<b', 'b<c', 'c<d']])
  await eventually(() => expect(last.values).toEqual(['d']))
})

test('a listener that ends while the disk is read hears nothing, and others do not miss it', async () => {
  const { db } = await reloaded(
    db => [client.ref(db, 'rooms/b'), client.ref(db, 'rooms')],
    db => void client.set(client.ref(db, 'rooms/b/m'), 1).catch(nobodyHears)
  )
  const ended: unknown[] = []
  const stop = client.onValue(client.ref(db, 'rooms'), snapshot => ended.push(snapshot.val()))
  const below = told(client.ref(db, 'rooms/b'))
  client.onChildAdded(client.ref(db, 'rooms/b'), ({ key }) => ended.push(key))
  const again = client.onChildAdded(client.ref(db, 'rooms/b'), ({ key }) => ended.push(key))
  client.off(client.ref(db, 'rooms/b'), 'child_changed')
  stop()
  again()
  ended.length = 0
  await eventually(() => expect(below.values).not.toEqual([]))
  expect([below.values, below.told]).toEqual([['m n'], ['<m', 'm<n']])
  expect(ended, 'of one of three').toEqual(['m', 'n'])
})
