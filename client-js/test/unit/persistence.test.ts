import { IDBFactory } from 'fake-indexeddb'
import 'fake-indexeddb/auto'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import * as client from '../../src/index.js'
import { enablePersistence, type Persistence, type PersistenceOptions } from '../../src/persistence.js'
import { eventually } from '../support/eventually.js'
import { FakeSocket } from '../support/fake-server.js'
import { Browser } from '../support/locks.js'
import { seen } from '../support/seen.js'
import { freshNamespace, Server } from '../support/server.js'
import { unsigned } from '../support/tokens.js'

let server: Server
let ns: string
const open: { stop(): unknown }[] = []

beforeAll(async () => {
  server = await new Server().start()
}, 120_000)
afterAll(() => server?.stop())
afterEach(async () => {
  for (const { stop } of open.splice(0).reverse()) await stop()
})

interface Tab {
  db: client.Database
  persistence: Persistence
  /** Ends the tab without a word, as a crash would. */
  crash(): void
}

/** A page of an app; `disk` and `browser` are what it shares with others. */
async function page(
  disk: IDBFactory,
  more: PersistenceOptions = {},
  online = true,
  browser?: Browser
): Promise<Tab> {
  const db = client.getDatabase({ databaseURL: server.url(ns) })
  const locks = browser?.tab()
  if (!online) client.goOffline(db)
  const persistence = await enablePersistence(db, {
    indexedDB: disk,
    locks,
    shareConnection: !!browser,
    ...more
  })
  let alive = true
  open.push({
    async stop() {
      if (alive) await persistence.stop()
      client.deleteDatabase(db)
    }
  })
  return {
    db,
    persistence,
    crash() {
      alive = false
      locks?.kill()
      client.goOffline(db)
    }
  }
}

const disks = () => {
  ns = freshNamespace()
  return new IDBFactory()
}

test('what was listened to is there at the next start, offline', async () => {
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

test('what changed meanwhile comes after what was saved', async () => {
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

test('who ends a database is not told of writes that are sent at the next start', async () => {
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

const nobodyHears = () => {} // of the promises of a page that is gone

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

test('tabs share one connection', async () => {
  const disk = disks()
  const browser = new Browser()
  const one = await page(disk, {}, true, browser)
  const two = await page(disk, {}, true, browser)
  const room = (tab: Tab) => client.ref(tab.db, 'room')
  const first = seen(one.db, room(one))
  const second = seen(two.db, client.query(room(two), client.limitToLast(1)))
  await first.until(null)
  await client.set(room(two), { a: 1, b: 2 })
  await first.until({ a: 1, b: 2 })
  await second.until({ b: 2 })
  await client.set(client.child(room(one), 'c'), 3)
  await second.until({ c: 3 })
  await first.until({ a: 1, b: 2, c: 3 })
  expect(await client.runTransaction(client.child(room(two), 'c'), n => n + 1)).toMatchObject({
    committed: true
  })
  await first.until({ a: 1, b: 2, c: 4 })
})

test('a tab whose lock comes late is not taken for dead', async () => {
  const disk = disks()
  const browser = new Browser()
  const told: string[] = []
  class Channel extends BroadcastChannel {
    override postMessage(message: { kind: string }): void {
      told.push(message.kind)
      super.postMessage(message)
    }
  }
  const one = await page(disk, { BroadcastChannel: Channel }, true, browser)
  await client.set(client.ref(one.db, 'a'), 1)
  const { request } = browser.tab()
  let grant = () => {}
  const granted = new Promise<void>(resolve => {
    grant = resolve
  })
  const late = { request: async (...args: unknown[]) => granted.then(() => request(...args)) }
  const two = await page(disk, { BroadcastChannel: Channel, locks: late as never }, true, browser)
  const written = client.set(client.ref(two.db, 'a'), 2)
  await new Promise<void>(resolve => {
    client.onConnectionState(two.db, state => state === 'connecting' && resolve())
  })
  await client.set(client.ref(one.db, 'b'), 1)
  grant()
  await written
  expect(await server.rest(ns, 'GET', '/')).toEqual({ a: 2, b: 1 })
  expect(told.filter(kind => kind === 'open')).toHaveLength(1)
  expect(told).not.toContain('end')
})

test('when the leading tab goes, another takes over', async () => {
  const disk = disks()
  const browser = new Browser()
  const one = await page(disk, {}, true, browser)
  const two = await page(disk, {}, true, browser)
  const at = (tab: Tab) => client.ref(tab.db, 'a')
  const values = seen(two.db, at(two))
  await client.set(at(one), 1)
  await values.until(1)
  one.crash()
  await client.set(at(two), 2)
  await values.until(2)
  await server.rest(ns, 'PUT', '/a', 3)
  await values.until(3)
})

test('the plans of a tab that is killed are carried out', async () => {
  const disk = disks()
  const browser = new Browser()
  const one = await page(disk, {}, true, browser)
  const two = await page(disk, {}, true, browser)
  const values = seen(one.db, client.ref(one.db, 'online/two'))
  await client.set(client.ref(two.db, 'online/two'), true)
  await client.onDisconnect(client.ref(two.db, 'online/two')).set(false)
  await values.until(true)
  two.crash()
  await values.until(false)
})

test('a tab that has the connection comes back to it from being offline', async () => {
  const disk = disks()
  const browser = new Browser()
  const leader = await page(disk, {}, true, browser)
  await client.set(client.ref(leader.db, 'a'), 1)
  const other = await page(disk, {}, true, browser)
  await client.set(client.ref(other.db, 'a'), 2)
  client.goOffline(leader.db)
  await client.set(client.ref(other.db, 'a'), 3)
  client.goOnline(leader.db)
  await eventually(() => expect(client.connectionState(leader.db)).toBe('connected'))
  await seen(leader.db, client.ref(leader.db, 'a')).until(3)
})

test('no tab writes as the user of another', async () => {
  const disk = disks()
  await server.rest(ns, 'PUT', '/.settings/rules', {
    rules: { notes: { $user: { '.read': 'auth.uid === $user', '.write': 'auth.uid === $user' } } }
  })
  const browser = new Browser()
  const tabs = [await page(disk, {}, true, browser), await page(disk, {}, true, browser)] as const
  const token = (sub: string, iat = 0) => unsigned({ sub, user_id: sub, iat, exp: iat + 3600 })
  const write = (tab: Tab, whose: string) =>
    client.set(client.ref(tab.db, `notes/${whose}`), 1).then(
      () => 'ok',
      ({ code }) => code
    )
  const outcome = async () => {
    const all = tabs.flatMap(tab => ['ana', 'bo'].map(whose => write(tab, whose)))
    return (await Promise.all(all)).map(code => (code === 'ok' ? 1 : code === 'PERMISSION_DENIED' ? 0 : code))
  }
  const [one, other] = tabs
  expect(await outcome()).toEqual([0, 0, 0, 0])
  await client.signInWithToken(one.db, token('ana'))
  expect(await outcome()).toEqual([1, 0, 0, 0])
  await client.signInWithToken(other.db, token('bo'))
  expect(await outcome()).toEqual([1, 0, 0, 1])
  await client.signInWithToken(other.db, token('ana', 1))
  expect(await outcome()).toEqual([1, 0, 1, 0])
  client.signOut(one.db)
  expect(await outcome()).toEqual([0, 0, 1, 0])
  client.signOut(other.db)
  expect(await outcome()).toEqual([0, 0, 0, 0])
})

// ---- what is first seen after a reload

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

test('what is written while the disk is read is in the first view', async () => {
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

test('what was kept is in the first view also if a child of it is listened to already', async () => {
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

// ---- with a server that the test plays

const events = (db: client.Database, path: string): string[] => {
  const seen: string[] = []
  client.onChildAdded(client.ref(db, path), snap => seen.push(`+${snap.key}`))
  client.onChildRemoved(client.ref(db, path), snap => seen.push(`-${snap.key}`))
  return seen
}

async function played(disk: IDBFactory, more: PersistenceOptions = {}): Promise<Tab> {
  const db = client.getDatabase({ databaseURL: 'http://localhost:9000?ns=played', WebSocket: FakeSocket })
  const persistence = await enablePersistence(db, { indexedDB: disk, shareConnection: false, ...more })
  open.push({
    async stop() {
      await persistence.stop()
      client.deleteDatabase(db)
    }
  })
  return { db, persistence, crash: () => client.goOffline(db) }
}

async function greeted(): Promise<FakeSocket> {
  await eventually(() => expect(FakeSocket.all).toHaveLength(1))
  FakeSocket.last.greet({ f: ['w'] })
  return FakeSocket.last
}

const requested = async (socket: FakeSocket, action: string): Promise<any> => {
  await eventually(() => expect(socket.requests(action)).not.toEqual([]))
  return socket.requests(action)[0]
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

test('what was sent, or taken over, and is not answered, is forgotten as well', async () => {
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

test('what cannot be read on disk is deleted, told, and in nobody’s way', async () => {
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

test('what somebody else keeps under the name is not touched, and the database works without', async () => {
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
