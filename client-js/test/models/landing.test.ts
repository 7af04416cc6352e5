// Two landers, bad rows and outages. What SQL keeps is a map that never goes back.

import { expect, test } from 'vitest'
import {
  type Dirty,
  HeldError,
  LandingError,
  LeaseLostError,
  OwnerStorage,
  type StorageData
} from '../../models/owner-storage.js'
import { deleteDatabase } from '../../src/index.js'
import { models } from './scene.js'

const scene = models()

const keyOf = ({ logic, owner, key }: Dirty) => `${logic}:${owner}:${key}`

/** An SQL table whose rows never go back to a smaller version. */
class Table {
  readonly rows = new Map<string, Dirty>()
  refuse: (row: Dirty) => string | undefined = () => undefined
  calls = 0

  readonly save = async (batch: Dirty[]): Promise<void> => {
    this.calls++
    for (const row of batch) {
      const why = this.refuse(row)
      if (why) throw new Error(why)
    }
    for (const row of batch) {
      const old = this.rows.get(keyOf(row))
      if (!old || row.version > old.version) this.rows.set(keyOf(row), row)
    }
  }
}

async function landing() {
  const storage = await scene('owner-storage')
  const token = { service: true, appId: 'game1', regionId: 's1' }
  const open = (claims = {}) => {
    const db = storage.as<StorageData>({ uid: 'svc', token: { ...token, ...claims } })
    return { db, storage: new OwnerStorage(db, 'game1', 's1') }
  }
  const game = open().storage
  const sql = new Table()
  return {
    ...storage,
    sql,
    lander: () => open({ landing: true }),
    a: open({ landing: true }).storage,
    b: open({ landing: true }).storage,
    game,
    set: (key: string, value: string | number) => game.update('player', 'p1', { [key]: value }),
    /** The lease was renewed long ago. */
    lapse: () => storage.admin('PUT', '/landing/game1/s1/at', 1),
    async equal() {
      const live = (await storage.admin('GET', '/store/game1/s1/player/p1')) ?? {}
      const gone = (await storage.admin('GET', '/deleted/game1/s1/player/p1')) ?? {}
      const tree = Object.fromEntries([
        ...Object.entries(live).map(([key, value]) => [key, { value, deleted: false }]),
        ...Object.entries<any>(gone).map(([key, { value }]) => [key, { value, deleted: true }])
      ])
      const rows = [...sql.rows.values()].map(({ key, value, deleted }) => [key, { value, deleted }])
      expect(Object.fromEntries(rows)).toEqual(tree)
      expect(await storage.admin('GET', '/dirty')).toBe(null)
      await storage.check()
    }
  }
}

test('a lander that stalls leaves SQL as another one has landed it, and takes no marks away', async () => {
  const { a, b, sql, set, lapse, equal, admin } = await landing()
  await set('level', 1)
  const stalled = a.land(async rows => {
    await set('level', 2)
    await lapse()
    expect(await b.land(sql.save)).toBe(1)
    await set('nick', 'Li')
    await sql.save(rows)
  })
  await expect(stalled).rejects.toThrow(LeaseLostError)
  expect(sql.rows.get('player:p1:level')).toMatchObject({ value: 2 })
  expect(Object.keys(await admin('GET', '/dirty/game1/s1'))).toEqual(['player:p1:nick'])
  expect(await b.land(sql.save)).toBe(1)
  await equal()
})

test('a lander without the lease takes no marks away, though nothing has changed', async () => {
  const { a, b, sql, set, lapse, equal } = await landing()
  await set('level', 1)
  const stalled = a.land(async () => {
    await lapse()
    await expect(b.land(() => Promise.reject(new Error('down')))).rejects.toThrow('down')
  })
  await expect(stalled).rejects.toThrow(LeaseLostError)
  expect(await b.land(sql.save)).toBe(1)
  await equal()
})

test('a second lander is told which one works, and until when', async () => {
  const { a, b, sql, set } = await landing()
  await set('level', 1)
  const landed = await a.land(async () => {
    for (const other of [a, b]) {
      const error = await other.land(sql.save).then(
        () => expect.fail(),
        (error: HeldError) => error
      )
      expect(error).toBeInstanceOf(HeldError)
      expect(error.holder).not.toBe('')
      expect(error.until.getTime()).toBeGreaterThan(0)
    }
  })
  expect(landed).toBe(1)
  expect(sql.calls).toBe(0)
})

test('the lease of a lander that ends is free at once', async () => {
  const { lander, b, sql, set, equal, admin } = await landing()
  const { db, storage } = lander()
  await set('level', 1)
  const ended = storage.land(async () => void deleteDatabase(db))
  await expect(ended).rejects.toThrow()
  await expect.poll(() => admin('GET', '/landing/game1/s1/for'), { timeout: 60_000 }).toBe(0)
  expect(await b.land(sql.save)).toBe(1)
  await equal()
})

test('versions grow, though the clock was ahead or the lease is removed', async () => {
  const { a, set, admin } = await landing()
  const versions: number[] = []
  const land = async () => {
    await set('level', versions.length)
    await a.land(async ([row]) => void versions.push(row!.version))
  }
  await land()
  await land()
  await admin('DELETE', '/landing')
  await land()
  await admin('PUT', '/landing/game1/s1/version', versions[2]! + 1e9)
  await admin('PUT', '/landing/game1/s1/at', versions[2]! + 1e9)
  await land()
  expect(versions[3]).toBe(versions[2]! + 1e9 + 1)
  expect([...versions].sort((x, y) => x - y)).toEqual(versions)
  expect(new Set(versions).size).toBe(4)
})

test('a row that fails alone is moved to the errors, and replayed', async () => {
  const { a, sql, set, equal } = await landing()
  sql.refuse = ({ value }) => (String(value).startsWith('bad') ? 'x'.repeat(1000) : undefined)
  await set('a', 'bad')
  await set('b', 1)
  await set('c', 'bad, too')
  const error = await a.land(sql.save).then(
    () => expect.fail(),
    (error: LandingError) => error
  )
  expect(error).toBeInstanceOf(LandingError)
  expect(error.landed).toBe(1)
  expect(error.refused.map(({ row }) => row.key).sort()).toEqual(['a', 'c'])
  const failed = await a.failed()
  expect(failed.map(({ key, tries, reason }) => [key, tries, reason.length])).toEqual([
    ['a', 1, 500],
    ['c', 1, 500]
  ])
  expect(await a.land(sql.save)).toBe(0)
  await set('a', 'good')
  expect(await a.land(sql.save)).toBe(1)
  await expect(a.replay(sql.save)).rejects.toMatchObject({ landed: 1 })
  expect(await a.failed()).toMatchObject([{ key: 'c', tries: 2 }])
  sql.refuse = () => undefined
  expect(await a.replay(sql.save)).toBe(1)
  expect(await a.failed()).toEqual([])
  await equal()
})

test('bad rows that fill the batch do not stop those behind them', async () => {
  const { a, sql, set } = await landing()
  sql.refuse = ({ value }) => (value === 'bad' ? 'bad' : undefined)
  await set('a', 'bad')
  await expect(a.land(sql.save, 1)).rejects.toThrow('bad')
  expect(await a.failed()).toEqual([])
  await set('b', 1)
  await expect(a.land(sql.save, 1)).rejects.toMatchObject({ landed: 1 })
  expect(await a.failed()).toMatchObject([{ key: 'a' }])
})

test('while SQL is down, nothing is moved; also if it goes down between two rows', async () => {
  const { a, sql, set, equal } = await landing()
  for (let saves = 0; saves < 4; saves++) {
    for (let i = 0; i < 4; i++) await set(`f${i}`, saves)
    sql.calls = 0
    sql.refuse = () => (sql.calls === 1 || sql.calls > 1 + saves ? 'down' : undefined)
    await expect(a.land(sql.save)).rejects.toThrow('down')
    expect(await a.failed()).toEqual([])
  }
  sql.refuse = () => undefined
  await a.land(sql.save)
  await equal()
})

test('landers that race, stall, end and are refused: in the end SQL equals the tree', async () => {
  const { lander, a, sql, game, lapse, equal, admin } = await landing()
  const some = (n: number) => Math.floor(Math.random() * n)
  const flaky = async (rows: Dirty[]) => {
    const fate = some(6)
    if (fate === 0) throw new Error('refused')
    if (fate === 1) await lapse() // and another one takes over
    await sql.save(rows)
    if (fate === 2) throw new Error('the connection was lost') // after it
  }
  const racing = Array.from({ length: 3 }, async () => {
    for (let pass = 0; pass < 8; pass++) {
      const { db, storage } = lander()
      if (some(2)) setTimeout(() => deleteDatabase(db), some(60)) // between any two steps
      await storage.land(flaky, 1 + some(4)).catch(() => {})
      await storage.replay(flaky, 1 + some(4)).catch(() => {})
      deleteDatabase(db)
    }
  })
  for (let i = 0; i < 60; i++) {
    if (some(4)) await game.update('player', 'p1', { [`f${some(5)}`]: i })
    else await game.removeKeys('player', 'p1', [`f${some(5)}`])
  }
  await Promise.all(racing)
  // What a lander had sent when it was deleted may take the lease later.
  const alone = async (pass: () => Promise<unknown>) => {
    for (let held = true; held; ) {
      await admin('DELETE', '/landing')
      held = await pass().then(
        () => false,
        error => {
          if (error instanceof HeldError) return true
          throw error
        }
      )
    }
  }
  for (let i = 0; i < 2; i++) {
    await alone(() => a.land(sql.save))
    await alone(() => a.replay(sql.save))
  }
  await equal()
})
