// A client that comes back is sent what has changed since, where the server has a log.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import {
  child,
  type Database,
  deleteDatabase,
  get,
  getDatabase,
  goOffline,
  goOnline,
  increment,
  limitToLast,
  onDisconnect,
  onValue,
  orderByKey,
  query,
  ref,
  remove,
  serverTimestamp,
  set,
  startAt,
  update
} from '../../src/index.js'
import { eventually } from '../support/eventually.js'
import { FakeSocket } from '../support/fake-server.js'
import { closePlayed, openPlayed } from '../support/played.js'
import { Relay } from '../support/relay.js'
import { seen } from '../support/seen.js'
import { freshNamespace, Server } from '../support/server.js'

describe('with a played server', () => {
  let db: Database
  afterEach(() => closePlayed(db))
  const tick = (ms = 0) => vi.advanceTimersByTimeAsync(ms)
  const greeted = async (f: string[]) => {
    goOnline(db)
    await tick()
    FakeSocket.last.greet({ f })
    return FakeSocket.last
  }

  test('a listen has the position at which it was answered, and no later one', async () => {
    db = openPlayed()
    onValue(ref(db, 'a'), () => {})
    const first = await greeted(['p'])
    onValue(ref(db, 'b'), () => {})
    const [a, b] = first.requests('q')
    expect([a.b.since, b.b.since]).toEqual(['', ''])
    first.push('d', { p: 'a', d: 1 })
    first.answer(a.r, 'ok', {})
    first.push('at', { d: 'one' })
    first.push('at', { d: 'two' })
    first.answer(b.r, 'ok', {})
    first.onclose()
    await tick(1000)
    const second = await greeted(['p'])
    expect(second.requests('q').map(({ b }) => [b.p, b.since])).toEqual([
      ['/a', 'two'],
      ['/b', '']
    ])
    // Before the answer, a position says nothing of the listen.
    second.push('at', { d: 'three' })
    second.onclose()
    await tick(1000)
    const third = await greeted(['p'])
    expect(third.requests('q').map(({ b }) => b.since)).toEqual(['two', ''])
  })

  test('a server without positions is not asked', async () => {
    db = openPlayed()
    onValue(ref(db, 'a'), () => {})
    const socket = await greeted(['w'])
    expect('since' in socket.requests('q')[0].b).toBe(false)
  })

  // What the server will have done is shown, and goes if the server says nothing of it.
  for (const [features, want] of [
    [['p'], { ana: true, bo: 1 }],
    [[], { ana: false, bo: 1 }] // the hash was that of this
  ] as const)
    test(`expected writes, with the features ${features}`, async () => {
      db = openPlayed()
      const values: unknown[] = []
      const below: unknown[] = []
      onValue(ref(db, 'here'), s => values.push(s.val()))
      onValue(ref(db, 'here/ana'), s => below.push(s.val()))
      const first = await greeted([...features])
      const [listen] = first.requests('q')
      first.push('d', { p: 'here', d: { ana: true, bo: 0 } })
      first.answer(listen.r, 'ok', {})
      first.push('at', { d: 'one' })
      void onDisconnect(ref(db, 'here/ana')).set(false)
      first.answer(first.requests('o')[0].r)
      first.onclose()
      expect(values.at(-1)).toEqual({ ana: false, bo: 0 })
      const late: unknown[] = []
      onValue(query(ref(db, 'here'), orderByKey(), limitToLast(2)), s => late.push(s.val()))
      await tick(1000)
      const second = await greeted([...features])
      const again = second.requests('q')
      expect(again).toHaveLength(1)
      expect(values.at(-1)).toEqual({ ana: false, bo: 0 })
      second.push('d', { p: 'here/bo', d: 1 })
      second.answer(again[0].r, 'ok', {})
      expect(values.at(-1)).toEqual(want)
      expect(late.at(-1)).toEqual(want)
      expect(below.at(-1)).toEqual(want.ana)
    })
})

describe('with the real server', () => {
  let server: Server
  let relay: Relay
  const folder = mkdtempSync(join(tmpdir(), 'client-js-'))
  beforeAll(async () => {
    server = await new Server(['--data', folder]).start()
    relay = await new Relay(server.port).start()
  }, 120_000)
  afterAll(async () => {
    relay.stop()
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  })
  const open = (ns: string) => getDatabase({ databaseURL: `http://${relay.host}?ns=${ns}` })

  test('of a large view that has changed a little the change is sent', async () => {
    const ns = freshNamespace()
    const list: Record<string, unknown> = {}
    for (let i = 0; i < 1000; i++) list[`k${i}`] = 'x'.repeat(90)
    await server.rest(ns, 'PUT', '/list', list)
    const db = open(ns)
    const view = seen(db, ref(db, 'list'))
    await view.until(list)
    await set(ref(db, 'other'), 1) // answered after a position
    await set(ref(db, 'other'), 2)
    goOffline(db)
    const before = relay.answered
    await server.rest(ns, 'PUT', '/list/k500', 'changed')
    await server.rest(ns, 'DELETE', '/list/k501')
    void set(ref(db, 'list/mine'), increment(2))
    await server.stop('SIGKILL')
    await server.start()
    goOnline(db)
    const { k501, ...rest } = list
    await view.until({ ...rest, k500: 'changed', mine: 2 })
    await eventually(async () => expect(await server.rest(ns, 'GET', '/list/mine')).toBe(2))
    expect(relay.answered - before).toBeLessThan(2000)
    deleteDatabase(db)
  })

  test('what the rules did not let the server do is not shown any more', async () => {
    const ns = freshNamespace()
    await server.rest(ns, 'PUT', '/.settings/rules', {
      rules: {
        '.read': true,
        locked: { '.write': true },
        here: { '.write': true, bo: { '.validate': "!root.child('locked').exists()" } }
      }
    })
    const here = { ana: true, base: 'x'.repeat(3000), bo: true }
    await server.rest(ns, 'PUT', '/here', here)
    const db = open(ns)
    const view = seen(db, ref(db, 'here'))
    await view.until(here)
    await onDisconnect(ref(db, 'here/ana')).set(false)
    await onDisconnect(ref(db, 'here/bo')).set(false)
    await server.rest(ns, 'PUT', '/locked', true)
    const before = relay.answered
    goOffline(db)
    expect(view.all.at(-1)).toEqual({ ...here, ana: false, bo: false })
    goOnline(db)
    await view.until({ ...here, ana: false })
    expect(relay.answered - before).toBeLessThan(2000)
    deleteDatabase(db)
  })

  test('after each step, over broken connections, the views are what the server has', async () => {
    const ns = freshNamespace()
    let state = 16
    const random = (n: number) => {
      state = (state * 1103515245 + 12345) % 2 ** 31
      return Math.floor((state / 2 ** 31) * n)
    }
    await server.rest(ns, 'PUT', '/list/base', 'x'.repeat(2000))
    const db = open(ns)
    const direct = getDatabase({ databaseURL: server.url(ns) })
    const queries = (db: Database) => [
      ref(db, 'list'),
      query(ref(db, 'list'), orderByKey(), startAt('k')),
      query(ref(db, 'other'), orderByKey(), startAt('b')),
      query(ref(db, 'other'), orderByKey(), limitToLast(2)),
      ref(db, 'deep/at')
    ]
    const views = queries(db).map(q => seen(db, q))
    for (let step = 0; step < 10; step++) {
      if (random(3) === 0) relay.breakAfter(1 + random(600))
      const from = [db, direct][random(2)]!
      const writes: Promise<unknown>[] = []
      for (let i = random(8); i >= 0; i--) {
        const at = child(ref(from, ['list', 'other'][random(2)]!), `${'akz'[random(3)]}${random(4)}`)
        writes.push(
          [
            () => remove(at),
            () => update(at, { a: step, 'b/c': null }),
            () => set(ref(from, 'deep/at'), serverTimestamp()),
            () => set(child(at, 'b/c'), random(9)),
            () => remove(child(at, 'b')),
            () => set(child(at, 'b'), 'leaf')
          ][random(6)]!()
        )
      }
      if (random(4) === 0) {
        relay.cut()
        relay.mend()
      }
      await Promise.all(writes)
      const want = await Promise.all(queries(direct).map(async q => (await get(q)).val()))
      await Promise.all(views.map((view, i) => view.until(want[i])))
    }
    deleteDatabase(direct)
    deleteDatabase(db)
  })
})
