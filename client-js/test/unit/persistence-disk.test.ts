// Persistence with a server that the test plays, and with a disk that fails.

import { IDBFactory } from 'fake-indexeddb'
import { expect, test, vi } from 'vitest'
import * as client from '../../src/index.js'
import { enablePersistence } from '../../src/persistence.js'
import { eventually } from '../support/eventually.js'
import { FakeSocket } from '../support/fake-server.js'
import { greeted, played, requested } from '../support/played-page.js'
import { seen } from '../support/seen.js'
import { freshNamespace } from '../support/server.js'
import { disks, nobodyHears, ns, page, server } from '../support/tabs.js'

const events = (db: client.Database, path: string): string[] => {
  const seen: string[] = []
  client.onChildAdded(client.ref(db, path), snap => seen.push(`+${snap.key}`))
  client.onChildRemoved(client.ref(db, path), snap => seen.push(`-${snap.key}`))
  return seen
}

test('a write that the server has taken stays visible until the listen is answered', async () => {
  const disk = new IDBFactory()
  FakeSocket.all.length = 0
  const first = await played(disk)
  events(first.db, 'list')
  const socket = await greeted()
  const listen = await requested(socket, 'q')
  socket.push('d', { p: 'list', d: { a: 1 } })
  socket.answer(listen.r)
  client.goOffline(first.db)
  void client.set(client.ref(first.db, 'list/b'), 2)
  await first.persistence.flush()
  first.crash()

  FakeSocket.all.length = 0
  const second = await played(disk)
  const seen = events(second.db, 'list')
  const next = await greeted()
  const write = await requested(next, 'p')
  const again = await requested(next, 'q')
  next.answer(write.r) // before there is any data
  await new Promise(resolve => setTimeout(resolve))
  next.push('d', { p: 'list', d: { a: 1, b: 2, c: 3 } })
  next.answer(again.r)
  await eventually(() => expect(seen).toContain('+c'))
  expect(seen.sort()).toEqual(['+a', '+b', '+c'])
})

test('the ids of writes have no gaps, which the server would have to remember', async () => {
  FakeSocket.all.length = 0
  const { db } = await played(new IDBFactory())
  client.goOffline(db)
  for (const key of ['a', 'b', 'c']) {
    void client.set(client.ref(db, key), 1).catch(nobodyHears)
    void client.runTransaction(client.ref(db, `of ${key}`), () => 1).catch(nobodyHears)
  }
  client.goOnline(db)
  const socket = await greeted()
  const ids = socket.requests('p').flatMap(({ b: { w } }) => (w ? [w.split(':')[1]] : []))
  expect(ids).toEqual(['1', '2', '3'])
})

test('writes are taken over in the order in which a client made them, whatever its clock', async () => {
  const disk = new IDBFactory()
  FakeSocket.all.length = 0
  const left = await played(disk)
  client.goOffline(left.db)
  const clock = vi.spyOn(Date, 'now')
  for (const [time, path] of [
    [2000, 'a'],
    [1000, 'b'],
    [3000, 'c']
  ] as const) {
    clock.mockReturnValue(time)
    void client.set(client.ref(left.db, path), time).catch(nobodyHears)
  }
  clock.mockRestore()
  await left.persistence.flush()
  await played(disk)
  const socket = await greeted()
  await eventually(() => expect(socket.requests('p')).toHaveLength(3))
  expect(socket.requests('p').map(({ b }) => b.p)).toEqual(['/a', '/b', '/c'])
})

test('unanswered writes, sent or taken over, are forgotten as well', async () => {
  const disk = new IDBFactory()
  const left = await played(disk)
  client.goOffline(left.db)
  void client.set(client.ref(left.db, 'adopted'), 1)
  await left.persistence.flush()
  FakeSocket.all.length = 0
  const refused: string[] = []
  const { db, persistence } = await played(disk, { onRefused: (_, path) => refused.push(path) })
  const sent = client.set(client.ref(db, 'sent'), 2).catch(({ code }) => code)
  const socket = await greeted()
  await eventually(() => expect(socket.requests('p')).toHaveLength(2))
  await persistence.clear()
  expect(await sent).toBe('CLEARED')
  for (const { r } of socket.requests('p')) socket.answer(r)
  client.goOffline(db)
  FakeSocket.all.length = 0
  client.goOnline(db)
  const again = await greeted()
  void client.set(client.ref(db, 'new'), 3)
  expect((await requested(again, 'p')).b.p).toBe('/new')
  expect(refused).toEqual([])
})

test('unreadable records on disk are deleted, reported, and in no one’s way', async () => {
  const good = ['{"a":1}', 7, Date.now()]
  const rubbish = [
    null,
    {},
    -1,
    'text',
    [],
    ['{', 1, 1],
    [1, 2, 3],
    [{}, 'm', '{"p":"/a"}'],
    [1, 'p', `{"p":"/a","d":${'{"a":'.repeat(50_000)}1${'}'.repeat(50_001)}`],
    [1, 'm', `{"p":"/a","d":${'{"a":'.repeat(2000)}1${'}'.repeat(2001)}`],
    [`${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`, 1, 1],
    [1, 'm', '{"p":"/a"}'],
    [1, 't', '{}'],
    ['now', 't', '{"p":"/a"}']
  ]
  for (const bad of rubbish) {
    const disk = new IDBFactory()
    FakeSocket.all.length = 0
    const first = await played(disk)
    await first.persistence.stop()
    const name = (await disk.databases())[0]!.name!
    const db = await new Promise<IDBDatabase>(resolve => {
      const request = disk.open(name)
      request.onsuccess = () => resolve(request.result)
    })
    const transaction = db.transaction(['views', 'writes'], 'readwrite')
    transaction.objectStore('views').put(good, '/good default')
    transaction.objectStore('views').put(bad, '/bad default')
    transaction.objectStore('writes').put(bad, ['someone', 1])
    transaction.objectStore('writes').put([1, 'p', '{"p":"/good/b","d":2}'], 'no key of ours')
    transaction.objectStore('writes').put([1, 'p', '{"p":"/good/b","d":2}'], ['someone', 2])
    await new Promise(resolve => {
      transaction.oncomplete = resolve
    })
    db.close()

    const errors: string[] = []
    const second = await played(disk, { onError: error => errors.push(error.code) })
    client.goOffline(second.db)
    const seen = events(second.db, 'good')
    events(second.db, 'bad')
    await eventually(() => expect(seen.sort()).toEqual(['+a', '+b']))
    await eventually(() => expect(errors.length).toBeGreaterThanOrEqual(2))
    expect(new Set(errors)).toEqual(new Set(['UNREADABLE']))
    await second.persistence.stop()
    errors.length = 0
    const third = await played(disk, { onError: error => errors.push(error.code) })
    expect(errors, 'they are gone').toEqual([])
    await third.persistence.clear()
  }
})

test('a write that the disk does not take is told, and tried again', async () => {
  const disk = new IDBFactory()
  FakeSocket.all.length = 0
  const errors: string[] = []
  const { db, persistence } = await played(disk, { onError: error => errors.push(error.code) })
  client.goOffline(db)
  const full = vi.spyOn(IDBObjectStore.prototype, 'put').mockImplementation(() => {
    throw new DOMException('no room', 'QuotaExceededError')
  })
  void client.set(client.ref(db, 'a'), 1)
  await eventually(() => expect(errors).toEqual(['NOT_SAVED']))
  await expect(persistence.flush()).rejects.toMatchObject({ code: 'NOT_SAVED' })
  full.mockRestore()
  await persistence.flush()
  client.goOffline(db)
  const later = await played(disk)
  client.goOffline(later.db)
  expect((await client.get(client.ref(later.db, 'a'))).val()).toBe(1)
})

test('a database whose persistence was stopped is as deleted', async () => {
  const disk = disks()
  const url = server.url(ns)
  const first = client.getDatabase(url)
  const errors: string[] = []
  const persistence = await enablePersistence(first, {
    indexedDB: disk,
    onError: error => errors.push(error.code)
  })
  await client.set(client.ref(first, 'a'), 1)
  await seen(first, client.ref(first, 'a')).until(1)
  client.goOffline(first)
  const cut = client.set(client.ref(first, 'b'), 2).catch(({ code }) => code)
  await persistence.stop()
  expect(await cut).toBe('CLOSED')
  await expect(client.set(client.ref(first, 'a'), 1)).rejects.toMatchObject({ code: 'CLOSED' })
  await expect(enablePersistence(first, { indexedDB: disk })).rejects.toThrow('the database was deleted')
  const second = client.getDatabase(url)
  expect(second).not.toBe(first)
  client.goOffline(second)
  const again = await enablePersistence(second, { indexedDB: disk })
  await seen(second, client.ref(second, 'a')).until(1)
  client.goOnline(second)
  await client.set(client.ref(second, 'c'), 3)
  expect(await server.rest(ns, 'GET', '/')).toEqual({ a: 1, b: 2, c: 3 })
  await again.stop()
  expect(errors).toEqual([])
})

test('persistence is enabled once', async () => {
  const disk = disks()
  const { db, persistence } = await page(disk)
  await expect(enablePersistence(db, { indexedDB: disk })).rejects.toThrow('enabled already')
  await client.set(client.ref(db, 'a'), 1)
  await persistence.flush()
  const other = client.getDatabase({ databaseURL: server.url(ns) })
  const broken = {
    open: () => {
      throw new Error('no disk')
    }
  } as any
  await expect(enablePersistence(other, { indexedDB: broken })).rejects.toMatchObject({
    code: 'NO_STORAGE',
    message: 'IndexedDB cannot be used: Error: no disk'
  })
  await (await enablePersistence(other, { indexedDB: disk })).stop()
})

test('a foreign database of that name is not touched, and the database works without', async () => {
  const disk = new IDBFactory()
  const db = client.getDatabase({ databaseURL: server.url(ns) })
  const { host } = new URL(server.url(ns))
  const theirs = disk.open(`dogwood ${host} ${ns}`, 2)
  await new Promise(resolve => {
    theirs.onsuccess = resolve
  })
  await expect(enablePersistence(db, { indexedDB: disk })).rejects.toMatchObject({ code: 'NO_STORAGE' })
  await client.set(client.ref(db, 'a'), 1)
  expect(await server.rest(ns, 'GET', '/')).toEqual({ a: 1 })
  client.deleteDatabase(db)
})

test('it needs nothing that only secure origins have', async () => {
  const uuid = vi.spyOn(crypto, 'randomUUID').mockImplementation(() => {
    throw new TypeError('crypto.randomUUID is not a function')
  })
  const { db } = await played(new IDBFactory())
  client.goOffline(db)
  FakeSocket.all.length = 0
  client.goOnline(db)
  void client.set(client.ref(db, 'a'), 1).catch(() => {})
  const write = await requested(await greeted(), 'p')
  expect(write.b.w).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}:1$/)
  uuid.mockRestore()
})

test('without IndexedDB it says so', async () => {
  const db = client.getDatabase({ databaseURL: server.url(freshNamespace()) })
  await expect(enablePersistence(db, { indexedDB: null as any })).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT'
  })
})
