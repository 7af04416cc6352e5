// Persistence with a server that the test plays: the user who is signed in, the order of messages, and the end.

import { IDBFactory } from 'fake-indexeddb'
import { beforeEach, describe, expect, test } from 'vitest'
import * as client from '../../src/index.js'
import { enablePersistence } from '../../src/persistence.js'
import { eventually } from '../support/eventually.js'
import { FakeSocket } from '../support/fake-server.js'
import { Browser } from '../support/locks.js'
import { greeted, played, requested, savedViews } from '../support/played-page.js'
import { seen } from '../support/seen.js'

beforeEach(() => {
  FakeSocket.all.length = 0
})

const paths = (socket: FakeSocket): string[] => socket.requests('p').map(({ b }) => b.p)

/** Answers the listen at a path with a value. */
async function tell(socket: FakeSocket, path: string, value: unknown, query?: object): Promise<void> {
  const isIt = ({ b }: any) => b.p === path && !b.q === !query
  const { r, b } = await eventually(() => socket.requests('q').find(isIt) ?? expect.fail(path))
  socket.push('d', { p: path, d: value, t: b.t })
  socket.answer(r)
}

describe('writes from before a reload', () => {
  /** A page that has left two writes, and the next one with its connection. */
  async function reloaded(before: (db: client.Database) => unknown) {
    const disk = new IDBFactory()
    const first = await played(disk)
    client.goOffline(first.db)
    await before(first.db)
    void client.set(client.ref(first.db, 'notes/a'), 1)
    void client.set(client.ref(first.db, 'notes/c'), 1)
    await first.persistence.flush()
    await first.persistence.stop()
    const { db } = await played(disk)
    return { db, socket: await greeted() }
  }

  const signIns: Record<string, (db: client.Database) => unknown> = {
    'a token': async db => {
      void client.signInWithToken(db, 'ana').catch(() => {})
      await new Promise(resolve => setTimeout(resolve))
    },
    'a token that is on its way': db => {
      void client.signInWithToken(db, () => new Promise(() => {})).catch(() => {})
    },
    'a token that does not come': db =>
      client.signInWithToken(db, () => Promise.reject(new Error('offline'))).catch(() => {})
  }

  for (const [name, signIn] of Object.entries(signIns))
    test(`that were made with ${name} wait for one, and what is written there waits for them`, async () => {
      const { db, socket } = await reloaded(signIn)
      const write = (path: string) => void client.set(client.ref(db, path), 2)
      expect(socket.requests('p')).toEqual([])
      for (const path of ['notes', 'notes/b', 'public']) write(path)
      void client.runTransaction(client.ref(db, 'notes/c'), () => 3).catch(() => {})
      await requested(socket, 'q')
      expect(paths(socket)).toEqual(['/public'])
      void client.signInWithToken(db, 'ana')
      const { r } = await requested(socket, 'gauth')
      write('public')
      expect(paths(socket)).toEqual(['/public'])
      socket.answer(r)
      expect(paths(socket)).toEqual([
        '/public',
        '/notes/a',
        '/notes/c',
        '/notes',
        '/notes/b',
        '/notes/c',
        '/public'
      ])
    })

  test('that were made with a token wait on each connection', async () => {
    const { db, socket } = await reloaded(signIns['a token']!)
    socket.onclose()
    client.goOffline(db)
    FakeSocket.all.length = 0
    client.goOnline(db)
    const next = await greeted()
    void client.signInWithToken(db, 'ana')
    next.answer((await requested(next, 'gauth')).r)
    expect(paths(next)).toEqual(['/notes/a', '/notes/c'])
  })

  test('that were made with a token are sent when the application signs out', async () => {
    const { db, socket } = await reloaded(signIns['a token']!)
    expect(socket.requests('p')).toEqual([])
    client.signOut(db)
    expect(paths(socket)).toEqual(['/notes/a', '/notes/c'])
  })

  test.each<[string, (db: client.Database) => unknown]>([
    ['without a token', () => {}],
    [
      'after signing out',
      async db => {
        await signIns['a token']!(db)
        client.signOut(db)
      }
    ]
  ])('that were made %s are sent at once', async (_, before) => {
    const { socket } = await reloaded(before)
    expect(paths(socket)).toEqual(['/notes/a', '/notes/c'])
  })

  test('that wait are forgotten as all others, and nothing waits for them then', async () => {
    const disk = new IDBFactory()
    const first = await played(disk)
    client.goOffline(first.db)
    await signIns['a token']!(first.db)
    void client.set(client.ref(first.db, 'a'), 1)
    await first.persistence.stop()
    const { db, persistence } = await played(disk)
    const socket = await greeted()
    const follows = client.set(client.ref(db, 'a/b'), 2).catch(({ code }) => code)
    await persistence.clear()
    expect(await follows).toBe('CLEARED')
    void client.set(client.ref(db, 'a'), 3)
    expect(socket.requests('p').map(({ b }) => b.d)).toEqual([3])
  })
})

test('a saved view does not bring back what others below it have seen since', async () => {
  const disk = new IDBFactory()
  const first = await played(disk)
  const all = (db: client.Database) => seen(db, client.ref(db, 'users'))
  const before = all(first.db)
  const saved = { ana: { name: 'old', n: 1, gone: 1 }, bo: 1, cy: 1 }
  await tell(await greeted(), '/users', saved)
  await before.until(saved)
  await first.persistence.stop()

  FakeSocket.all.length = 0
  const { db } = await played(disk)
  const at = (path: string) => client.ref(db, `users/${path}`)
  const [name, gone] = [seen(db, at('ana/name')), seen(db, at('ana/gone'))]
  const last = seen(db, client.query(at(''), client.limitToLast(1)))
  const socket = await greeted()
  await tell(socket, '/users/ana/name', 'new')
  await tell(socket, '/users/ana/gone', null)
  await tell(socket, '/users', { cy: 2 }, {})
  await Promise.all([name.until('new'), gone.until(null), last.until({ cy: 2 })])
  const now = { ana: { name: 'new', n: 1 }, bo: 1, cy: 2 }
  const after = all(db)
  await after.until(now)
  expect([name.all, gone.all, last.all, after.all]).toEqual([['new'], [null], [{ cy: 2 }], [now]])
})

describe('a transaction', () => {
  test('goes after the listen that tells it what is there', async () => {
    const { db } = await played(new IDBFactory())
    client.goOnline(db)
    const socket = await greeted()
    void client.runTransaction(client.ref(db, 'n'), n => (n ?? 0) + 1).catch(() => {})
    await requested(socket, 'p')
    expect(socket.sent.map(({ d }) => d.a)).toEqual(['q', 'p'])
  })

  test('goes after the listen above it', async () => {
    const { db } = await played(new IDBFactory())
    client.goOnline(db)
    const socket = await greeted()
    client.onValue(client.ref(db, 'a'), () => {})
    void client.runTransaction(client.ref(db, 'a/n'), n => (n ?? 0) + 1).catch(() => {})
    await requested(socket, 'p')
    expect(socket.sent.map(({ d }) => [d.a, d.b.p])).toEqual([
      ['q', '/a'],
      ['p', '/a/n']
    ])
  })

  test('that waits for the disk ends with the database', async () => {
    const { db } = await played(new IDBFactory())
    client.goOnline(db)
    const socket = await greeted()
    const ended = client.runTransaction(client.ref(db, 'n'), () => 1).catch(({ code }) => code)
    client.deleteDatabase(db)
    expect(await ended).toBe('CLOSED')
    expect(socket.requests('p')).toEqual([])
  })
})

describe('the end of a database', () => {
  test('ends persistence: the next one finds all of it', async () => {
    const disk = new IDBFactory()
    const browser = new Browser()
    const { request } = browser.tab()
    let locks = 0
    const counted = async (...args: unknown[]) => {
      locks++
      await request(...args).finally(() => locks--)
    }
    const options = { locks: { request: counted }, shareConnection: true }
    const first = await played(disk, options)
    const values = seen(first.db, client.ref(first.db, 'a'))
    await tell(await greeted(), '/a', 1)
    await values.until(1)
    client.goOffline(first.db)
    const written = client.set(client.ref(first.db, 'b'), 2).catch(({ code }) => code)
    client.deleteDatabase(first.db)
    expect(await written).toBe('CLOSED')
    await eventually(() => expect(locks).toBe(0))
    await expect(first.persistence.clear()).rejects.toMatchObject({ code: 'CLOSED' })
    await first.persistence.stop()

    const { db } = await played(disk, { locks: browser.tab(), shareConnection: false })
    client.goOffline(db)
    await seen(db, client.ref(db, 'a')).until(1)
    await seen(db, client.ref(db, 'b')).until(2)
  })

  test.each([
    ['before the disk is open', (end: () => void) => setTimeout(end)],
    ['later', () => {}]
  ])('ends persistence that is being enabled: %s', async (_, soon) => {
    const disk = new IDBFactory()
    const db = client.getDatabase({ databaseURL: 'http://localhost:9000?ns=played', WebSocket: FakeSocket })
    const end = () => client.deleteDatabase(db)
    const locks = {
      async request() {
        end()
      }
    }
    soon(end)
    const enabled = enablePersistence(db, { indexedDB: disk, locks, shareConnection: false })
    await expect(enabled).rejects.toMatchObject({ code: 'CLOSED' })
  })
})

describe('the disk', () => {
  test('has nothing of a listener for changes', async () => {
    const disk = new IDBFactory()
    const { db, persistence } = await played(disk)
    client.goOnline(db)
    const socket = await greeted(['a'])
    const listening = client.onChanges(client.ref(db, 'a'), () => {})
    socket.answer((await requested(socket, 'q')).r)
    const stop = await listening
    await persistence.flush()
    stop()
    await persistence.flush()
    expect(await savedViews(disk)).toEqual([])
  })

  test('is bounded for views that have nearly nothing', async () => {
    const disk = new IDBFactory()
    const { db, persistence } = await played(disk, { maxBytes: 1000 })
    client.goOnline(db)
    const socket = await greeted()
    for (let i = 10; i < 30; i++) {
      const values = seen(db, client.ref(db, `k${i}`))
      await tell(socket, `/k${i}`, i)
      await values.until(i)
      values.stop()
      await persistence.flush()
    }
    const keys = await savedViews(disk)
    expect(keys).toHaveLength(8) // of 114 bytes
    expect(keys).toContain('/k29 default')
  })
})
