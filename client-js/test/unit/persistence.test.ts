// What a page keeps on disk: views, pending writes and transactions.

import { expect, test, vi } from 'vitest'
import * as client from '../../src/index.js'
import type { PersistenceOptions } from '../../src/persistence.js'
import { eventually } from '../support/eventually.js'
import { Browser } from '../support/locks.js'
import { seen } from '../support/seen.js'
import { disks, nobodyHears, ns, page, server, type Tab } from '../support/tabs.js'

test('a saved view is there at the next start, offline', async () => {
  const disk = disks()
  await server.rest(ns, 'PUT', '/rooms', { a: { n: 1 }, b: { n: 2 }, c: { n: 3 } })
  const first = await page(disk)
  const latest = (db: client.Database) => client.query(client.ref(db, 'rooms'), client.limitToLast(2))
  await seen(first.db, latest(first.db)).until({ b: { n: 2 }, c: { n: 3 } })
  await seen(first.db, client.ref(first.db, 'rooms/a')).until({ n: 1 })
  await first.persistence.stop()
  client.deleteDatabase(first.db)

  const second = await page(disk, {}, false)
  await seen(second.db, latest(second.db)).until({ b: { n: 2 }, c: { n: 3 } })
  await seen(second.db, client.ref(second.db, 'rooms/a')).until({ n: 1 })
})

test('changes made meanwhile come after the saved value', async () => {
  const disk = disks()
  await server.rest(ns, 'PUT', '/a', 1)
  const first = await page(disk)
  await seen(first.db, client.ref(first.db, 'a')).until(1)
  await first.persistence.stop()
  await server.rest(ns, 'PUT', '/a', 2)
  const second = await page(disk)
  const values = seen(second.db, client.ref(second.db, 'a'))
  await values.until(2)
  expect(values.all).toEqual([1, 2])
})

test('writes made offline survive a crash and arrive once', async () => {
  const disk = disks()
  const first = await page(disk, {}, false)
  void client.set(client.ref(first.db, 'list/x'), 1)
  void client.update(client.ref(first.db, 'list'), { y: 2, 'z/deep': 3 })
  const values = seen(first.db, client.ref(first.db, 'list/x'))
  await values.until(1)
  await first.persistence.flush()
  first.crash()

  const second = await page(disk, {}, false)
  const again = seen(second.db, client.ref(second.db, 'list/y'))
  await again.until(2)
  client.goOnline(second.db)
  await client.set(client.ref(second.db, 'done'), true)
  expect(await server.rest(ns, 'GET', '/list')).toEqual({ x: 1, y: 2, z: { deep: 3 } })

  const third = await page(disk, {}, false)
  const later = seen(third.db, client.ref(third.db, 'other'))
  expect(later.all).toEqual([])
  await server.rest(ns, 'DELETE', '/list')
  client.goOnline(third.db)
  await client.set(client.ref(third.db, 'done'), false)
  expect(await server.rest(ns, 'GET', '/list')).toBe(null)
})

test('writes on disk wait over a refused token for the next sign-in', async () => {
  const warned = vi.spyOn(console, 'warn').mockImplementation(() => {})
  const { db } = await page(disks(), {}, false)
  const total = client.ref(db, 'total')
  const written = client.update(total, { n: client.increment(1) })
  const signedIn = client.signInWithToken(db, 'bogus.token.here')
  client.goOnline(db)
  await expect(signedIn).rejects.toMatchObject({ code: 'INVALID_TOKEN' })
  await expect(client.get(total)).rejects.toMatchObject({ code: 'INVALID_TOKEN' })
  expect(client.connectionState(db)).toBe('refused')
  expect(warned.mock.calls).toEqual([[expect.stringContaining('refuses the token')]])
  expect(await server.rest(ns, 'GET', '/total')).toBe(null)
  client.signOut(db)
  await written
  expect(await server.rest(ns, 'GET', '/total')).toEqual({ n: 1 })
  warned.mockRestore()
})

test('what a stopped database has left is taken over in the same page', async () => {
  const disk = disks()
  const browser = new Browser()
  for (const key of ['x', 'y', 'z']) {
    const { db, persistence } = await page(disk, { shareConnection: false }, false, browser)
    void client.set(client.ref(db, `list/${key}`), 1).catch(nobodyHears)
    await persistence.stop()
  }
  const next = await page(disk, { shareConnection: false }, false, browser)
  await seen(next.db, client.ref(next.db, 'list/y')).until(1)
  client.goOnline(next.db)
  await client.set(client.ref(next.db, 'done'), true)
  expect(await server.rest(ns, 'GET', '/list')).toEqual({ x: 1, y: 1, z: 1 })
})

test('increments from before a reload act on what is on disk', async () => {
  const disk = disks()
  await server.rest(ns, 'PUT', '/a', { n: 5, rooms: { x: { count: 7, text: 't' } } })
  const first = await page(disk)
  const a = client.ref(first.db, 'a')
  await seen(first.db, client.child(a, 'n')).until(5)
  await seen(first.db, client.child(a, 'rooms')).until({ x: { count: 7, text: 't' } })
  await first.persistence.flush()
  client.goOffline(first.db)
  void client.set(client.child(a, 'n'), client.increment(1))
  void client.update(a, { n: client.increment(2), 'rooms/x/count': client.increment(1) })
  void client.update(client.child(a, 'rooms/x'), { text: 'u', 'more/deep': client.increment(1) })
  await first.persistence.flush()
  first.crash()

  const second = await page(disk, {}, false)
  const b = client.ref(second.db, 'a')
  void client.update(b, { n: client.increment(10) }) // before the disk was read
  const n = seen(second.db, client.child(b, 'n'))
  const rooms = seen(second.db, client.child(b, 'rooms'))
  await n.until(18)
  await rooms.until({ x: { count: 8, text: 'u', more: { deep: 1 } } })
  expect(n.all).toEqual([18])
  expect(rooms.all).toHaveLength(1)
  client.goOnline(second.db)
  await client.set(client.ref(second.db, 'done'), true)
  expect(await server.rest(ns, 'GET', '/a')).toEqual({
    n: 18,
    rooms: { x: { count: 8, text: 'u', more: { deep: 1 } } }
  })
  expect(n.all).toEqual([18])
})

test('a refused write from before is told', async () => {
  const disk = disks()
  const first = await page(disk, {}, false)
  void client.set(client.ref(first.db, 'a'), 'x'.repeat(11 << 20))
  await first.persistence.flush()
  first.crash()
  const refused = await new Promise<string>(resolve => {
    void page(disk, { onRefused: (_, path) => resolve(path) })
  })
  expect(refused).toBe('/a')
})

test('a database that is ended does not report writes that are sent at the next start', async () => {
  const disk = disks()
  const first = await page(disk, {}, false)
  void client.set(client.ref(first.db, 'a'), 1)
  await first.persistence.flush()
  first.crash()
  const refused: string[] = []
  const second = await page(disk, { onRefused: ({ message }) => refused.push(message) }, false)
  await second.persistence.stop()
  const third = await page(disk)
  await client.set(client.ref(third.db, 'b'), 2)
  expect(await server.rest(ns, 'GET', '/')).toEqual({ a: 1, b: 2 })
  expect(refused).toEqual([])
})

/** Writes, and waits until the disk has done all that it was given before. */
async function write({ db, persistence }: Tab, path: string, value: unknown): Promise<void> {
  const written = client.set(client.ref(db, path), value)
  await persistence.flush()
  await written
}

test('a transaction that is lost with its page is told at the next start, once', async () => {
  const disk = disks()
  const first = await page(disk, {}, false)
  const at = client.ref(first.db, 'seats')
  const start = Date.now()
  void client.runTransaction(at, n => (n ?? 0) + 1).catch(nobodyHears)
  void client.runTransaction(at, n => (n ?? 0) + 1).catch(nobodyHears) // waits for the one before
  void client
    .runTransaction(client.ref(first.db, 'hidden'), () => 1, { applyLocally: false })
    .catch(nobodyHears)
  void client.set(client.ref(first.db, 'kept'), 1)
  await first.persistence.flush()
  first.crash()

  const lost: [code: string, path: string][] = []
  const times: number[] = []
  const onRefused: PersistenceOptions['onRefused'] = ({ code, message }, path) => {
    lost.push([code, path])
    times.push(Date.parse(/\d{4}-[\d-]+T[\d:.]+Z/.exec(message)![0]))
  }
  const second = await page(disk, { onRefused })
  await eventually(() =>
    expect(lost).toEqual([
      ['TRANSACTION_LOST', '/seats'],
      ['TRANSACTION_LOST', '/seats'],
      ['TRANSACTION_LOST', '/hidden']
    ])
  )
  for (const time of times) expect(time >= start && time <= Date.now()).toBe(true)
  await write(second, 'more', 1)
  expect(await server.rest(ns, 'GET', '/')).toEqual({ kept: 1, more: 1 })
  await second.persistence.stop()
  client.deleteDatabase(second.db)
  const third = await page(disk, { onRefused })
  await write(third, 'more', 2)
  expect(lost).toHaveLength(3)
})

test('a transaction that has ended is not told of, however it ended', async () => {
  const disk = disks()
  const first = await page(disk)
  const at = client.ref(first.db, 'a')
  expect(await client.runTransaction(at, () => 1)).toMatchObject({ committed: true })
  expect(await client.runTransaction(at, () => undefined)).toMatchObject({ committed: false })
  const thrown = client.runTransaction(at, () => {
    throw new Error('mine')
  })
  await expect(thrown).rejects.toThrow('mine')
  client.goOffline(first.db)
  const closed = client.runTransaction(at, () => 2).catch(({ code }) => code)
  await first.persistence.stop()
  expect(await closed).toBe('CLOSED')
  const lost: string[] = []
  const second = await page(disk, { onRefused: ({ code }) => lost.push(code) })
  await write(second, 'b', 1)
  expect(lost).toEqual([])
})

test('of several tabs, only the transactions of one that is gone are lost', async () => {
  const disk = disks()
  const browser = new Browser()
  const [gone, stays] = [await page(disk, {}, false, browser), await page(disk, {}, false, browser)]
  void client.runTransaction(client.ref(gone.db, 'gone'), () => 1).catch(nobodyHears)
  const staying = client.runTransaction(client.ref(stays.db, 'stays'), () => 1)
  await Promise.all([gone.persistence.flush(), stays.persistence.flush()])
  gone.crash()
  const lost: string[] = []
  const onRefused: PersistenceOptions['onRefused'] = ({ code }, path) => lost.push(`${code} ${path}`)
  const next = await Promise.all([1, 2].map(() => page(disk, { onRefused }, true, browser)))
  await eventually(() => expect(lost).toEqual(['TRANSACTION_LOST /gone']))
  client.goOnline(stays.db)
  expect(await staying).toMatchObject({ committed: true })
  for (const tab of next) await write(tab, 'b', 1)
  expect(lost).toHaveLength(1)
})

test('without onRefused, what is lost is in the console', async () => {
  const disk = disks()
  const first = await page(disk, {}, false)
  void client.runTransaction(client.ref(first.db, 'a'), () => 1).catch(nobodyHears)
  await first.persistence.flush()
  first.crash()
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
  await page(disk, {}, false)
  await eventually(() =>
    expect(warn.mock.calls).toEqual([['/a', expect.objectContaining({ code: 'TRANSACTION_LOST' })]])
  )
  warn.mockRestore()
})

test('the queue and the cache are bounded', async () => {
  const disk = disks()
  const { db, persistence } = await page(disk, { maxWrites: 2, maxBytes: 3000 }, false)
  const kept = ['a', 'b'].map(key => client.set(client.ref(db, key), 1))
  await expect(client.set(client.ref(db, 'c'), 1)).rejects.toMatchObject({ code: 'QUEUE_FULL' })
  const transaction = client.runTransaction(client.ref(db, 'c'), () => 1)
  await expect(transaction).rejects.toMatchObject({ code: 'QUEUE_FULL' })
  client.goOnline(db)
  await Promise.all(kept)
  for (const key of ['k1', 'k2', 'k3', 'k4', 'k5']) {
    await client.update(client.ref(db), { [key]: key.repeat(400) })
    const values = seen(db, client.ref(db, key))
    await values.until(key.repeat(400))
    await persistence.flush()
    values.stop()
  }
  await persistence.stop()
  const next = await page(disk, {}, false)
  await seen(next.db, client.ref(next.db, 'k5')).until('k5'.repeat(400))
  const first = seen(next.db, client.ref(next.db, 'k1'))
  await seen(next.db, client.ref(next.db, 'k4')).until('k4'.repeat(400))
  expect(first.all).toEqual([])
})

test('after clear, nothing is left for the next user', async () => {
  const disk = disks()
  await server.rest(ns, 'PUT', '/a', 1)
  const first = await page(disk)
  await seen(first.db, client.ref(first.db, 'a')).until(1)
  client.goOffline(first.db)
  const forgotten = [
    client.set(client.ref(first.db, 'b'), 2),
    client.runTransaction(client.ref(first.db, 'a'), () => 2),
    client.runTransaction(client.ref(first.db, 'a'), () => 3), // waits for the one before
    client.onDisconnect(client.ref(first.db, 'd')).set(1)
  ].map(promise => promise.catch(({ code }) => code))
  await first.persistence.clear()
  expect(await Promise.all(forgotten)).toEqual(['CLEARED', 'CLEARED', 'CLEARED', 'CLEARED'])
  client.goOnline(first.db)
  await client.set(client.ref(first.db, 'c'), 2)
  expect(await server.rest(ns, 'GET', '/')).toEqual({ a: 1, c: 2 })
  first.crash()
  const lost: string[] = []
  const second = await page(disk, { onRefused: (_, path) => lost.push(path) })
  await write(second, 'c', 3)
  expect(lost).toEqual([])
  expect(await server.rest(ns, 'GET', '/')).toEqual({ a: 1, c: 3 })
  client.goOffline(second.db)
  const values = seen(second.db, client.ref(second.db, 'a'))
  await second.persistence.flush()
  expect(values.all).toEqual([])
})

test('after clear, a listener that ends puts nothing back on disk', async () => {
  const disk = disks()
  await server.rest(ns, 'PUT', '/', { a: 1, b: 1 })
  const first = await page(disk)
  const at = (path: string) => client.ref(first.db, path)
  const [a, b] = [seen(first.db, at('a')), seen(first.db, at('b'))]
  await Promise.all([a.until(1), b.until(1)])
  await first.persistence.clear()
  await client.set(at('b'), 2) // what changes is of the next user
  a.stop()
  b.stop()
  await first.persistence.stop()
  const second = await page(disk, {}, false)
  const values = seen(second.db, client.ref(second.db, 'a'))
  await seen(second.db, client.ref(second.db, 'b')).until(2)
  expect(values.all).toEqual([])
})

test('a view without data is saved, too', async () => {
  const disk = disks()
  const first = await page(disk)
  await seen(first.db, client.ref(first.db, 'a')).until(null)
  await first.persistence.stop()
  const second = await page(disk, {}, false)
  await seen(second.db, client.ref(second.db, 'a')).until(null)
})
