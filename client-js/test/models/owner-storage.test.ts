import { expect, test } from 'vitest'
import {
  type Backlog,
  type Dirty,
  type Fields,
  OwnerStorage,
  type StorageData
} from '../../models/owner-storage.js'
import { calls, denied, models } from './scene.js'

const scene = models()
const token = { appId: 'game1', regionId: 's1' }

async function storage(declared = false) {
  const storage = await scene('owner-storage', declared)
  const as = (uid: string, claims: object) =>
    new OwnerStorage(storage.as<StorageData>({ uid, token: { ...token, ...claims } }), 'game1', 's1')
  return {
    ...storage,
    game: as('svc-game', { service: true }),
    lander: as('svc-landing', { service: true, landing: true }),
    player: as('p1001', { ownerId: 'p1001' })
  }
}

test('fields are read: some, or all', async () => {
  const { game, player } = await storage()
  expect(await game.getByFields('player', 'p1001', ['level', 'missing'])).toEqual({
    level: 12,
    missing: null
  })
  expect(await player.getAll('player', 'p1001')).toMatchObject({ gold: 350, nick: 'Li' })
  expect(await game.getAll('player', 'nobody')).toEqual({})
  await expect(player.getAll('player', 'p1002')).rejects.toMatchObject(denied)
})

test('fields are set, added to, removed, and come back', async () => {
  const { game, player, check, admin } = await storage()
  await game.update('player', 'p1001', { level: 13, nick: 'Li Lei' })
  expect(await game.incr('player', 'p1001', { gold: 50, kills: 1 })).toEqual({ gold: 400, kills: 1 })
  await game.removeKeys('player', 'p1001', ['nick', 'never-was'])
  expect(await game.getByFields('player', 'p1001', ['nick'])).toEqual({ nick: null })
  expect(await admin('GET', '/deleted/game1/s1/player/p1001/nick')).toMatchObject({ value: 'Li Lei' })
  await check()
  await game.update('player', 'p1001', { nick: 'Back' })
  expect(await admin('GET', '/deleted/game1/s1/player/p1001/nick')).toBe(null)
  await expect(player.update('player', 'p1001', { level: 99 })).rejects.toMatchObject(denied)
  await check()
})

test('everybody who adds gets a sum of his own', async () => {
  const { game, lander } = await storage()
  const adding = Array.from({ length: 100 }, (_, i) =>
    (i % 2 ? game : lander).incr('player', 'p1001', { tickets: 1 })
  )
  const sums = (await Promise.all(adding)).map(({ tickets }) => tickets)
  expect(sums.sort((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, i) => i + 1))
})

test('a field is removed with the value that it has then', async () => {
  const { game, lander, check, admin } = await storage()
  const changes = Array.from({ length: 10 }, (_, i) => lander.update('player', 'p1001', { nick: `n${i}` }))
  await game.removeKeys('player', 'p1001', ['nick'])
  await Promise.all(changes)
  await check()
  await game.removeKeys('player', 'p1001', ['nick'])
  expect(await admin('GET', '/deleted/game1/s1/player/p1001/nick')).toMatchObject({ value: 'n9' })
})

test('an owner is watched', async () => {
  const { game, player } = await storage()
  const seen = calls<Fields>()
  const stop = player.watch('player', 'p1001', seen.add)
  await seen.until(1)
  await game.update('player', 'p1001', { level: 13 })
  await seen.until(2)
  expect(seen.all.map(({ level }) => level)).toEqual([12, 13])
  stop()
})

test('what has changed is landed, the oldest first; what changes meanwhile waits', async () => {
  const { game, lander, check, admin } = await storage()
  const before = Object.keys((await admin('GET', '/dirty/game1/s1')) ?? {}).length
  await game.update('player', 'p1001', { level: 13 })
  await game.removeKeys('player', 'p1001', ['nick'])
  const sql = new Map<string, Dirty>()
  const save = async (batch: Dirty[]) => {
    for (const row of batch) sql.set(`${row.logic}:${row.owner}:${row.key}`, row)
    await game.update('player', 'p1001', { level: 14 })
  }
  expect(await lander.land(save)).toBe(before + 2)
  expect(sql.get('player:p1001:level')).toMatchObject({ value: 13 })
  expect(sql.get('player:p1001:nick')).toMatchObject({ value: 'Li', deleted: true })
  expect(Object.keys(await admin('GET', '/dirty/game1/s1'))).toEqual(['player:p1001:level'])
  expect(await lander.land(async batch => void sql.set('last', batch[0]!), 1)).toBe(1)
  expect(sql.get('last')).toMatchObject({ key: 'level', value: 14 })
  expect(await admin('GET', '/dirty')).toBe(null)
  await game.update('player', 'p1001', { level: 15 })
  await expect(game.land(async () => {})).rejects.toThrow(/permission_denied/i)
  await check()
})

test('a mark of no field is named and gone, and the others land', async () => {
  const { game, lander, admin } = await storage()
  await admin('PUT', '/dirty/game1/s1', {
    level: 1,
    'player:p1001': 2,
    'player:p1001:level:x': 3,
    'player::level': 4,
    'player:p1001:title': 'when'
  })
  await game.update('player', 'p1001', { level: 13 })
  const landed: string[] = []
  const save = async (batch: Dirty[]) => void landed.push(...batch.map(({ key }) => key))
  await expect(lander.land(save, 2)).rejects.toThrow('not of a field: level, player:p1001')
  await expect(lander.land(save)).rejects.toThrow(
    'not of a field: player:p1001:level:x, player::level, player:p1001:title'
  )
  expect(landed).toEqual(['level'])
  expect(await admin('GET', '/dirty')).toBe(null)
  expect(await lander.land(save)).toBe(0)
})

test('owners are listed in pages, declared', async () => {
  const { game, check } = await storage(true)
  expect(await game.owners('player')).toEqual(
    new Map([
      ['p1001', 4],
      ['p1002', 2]
    ])
  )
  await game.removeKeys('player', 'p1002', ['level', 'gold'])
  await game.update('player', 'p1003', { level: 1 })
  expect(await game.owners('player', undefined, 1)).toEqual(new Map([['p1001', 4]]))
  expect(await game.owners('player', 'p1001')).toEqual(new Map([['p1003', 1]]))
  await check()
})

test('what waits for the landing is counted, declared', async () => {
  const { game, lander, check } = await storage(true)
  const heard = calls<Backlog>()
  const stop = game.watchBacklog(heard.add)
  await heard.until(1)
  await game.update('player', 'p1001', { level: 13, gold: 1 })
  await heard.until(2)
  const bad = (field: { key: string }) => field.key === 'gold'
  const save = async (rows: Dirty[]) => {
    if (rows.some(bad)) throw new Error('a bad row')
  }
  await expect(lander.land(save)).rejects.toThrow()
  await heard.until(3)
  await check()
  await lander.replay(async () => {})
  await heard.until(4)
  stop()
  expect(heard.all[0]).toEqual({ waiting: 0, refused: 0 })
  expect(heard.all[1]).toEqual({ waiting: 2, refused: 0 })
  expect(heard.all.at(-1)).toEqual({ waiting: 0, refused: 0 })
  expect(heard.all.some(({ refused }) => refused === 1)).toBe(true)
})
