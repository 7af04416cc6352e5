import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as realtime from '../../src/index.js'
import * as rest from '../../src/rest.js'
import { freshNamespace, Server } from '../support/server.js'

let server: Server

beforeAll(async () => {
  server = await new Server().start()
}, 120_000)
afterAll(() => server?.stop())

const open = () => rest.getDatabase({ databaseURL: server.url(freshNamespace()) })

test('values, priorities and server values', async () => {
  const db = open()
  const room = rest.ref(db, 'rooms/lobby')
  await rest.set(room, { name: 'Lobby', n: 1, at: rest.serverTimestamp() })
  await rest.update(room, { n: rest.increment(2), 'deep/er': true })
  await rest.setPriority(room, 7)
  const snapshot = await rest.get(room)
  expect(snapshot.val()).toEqual({ name: 'Lobby', n: 3, at: expect.any(Number), deep: { er: true } })
  expect(snapshot.priority).toBe(7)
  expect(snapshot.key).toBe('lobby')
  await rest.remove(room)
  expect((await rest.get(room)).exists()).toBe(false)
})

test('queries', async () => {
  const db = open()
  const list = rest.ref(db, 'list')
  await rest.set(list, { a: 3, b: 1, c: 2, d: null })
  const keys = async (...constraints: rest.QueryConstraint[]) => {
    const result: string[] = []
    const snapshot = await rest.get(rest.query(list, ...constraints))
    snapshot.forEach(child => void result.push(child.key))
    return result
  }
  expect(await keys(rest.orderByKey(), rest.limitToLast(2))).toEqual(['b', 'c'])
  expect(await keys(rest.orderByKey(), rest.startAfter('a'), rest.endAt('b'))).toEqual(['b'])
  expect(await keys(rest.limitToFirst(1))).toEqual(['a'])
})

test('push makes ordered keys', async () => {
  const db = open()
  const list = rest.ref(db, 'list')
  const first = await rest.push(list, 'first')
  const second = rest.push(list, 'second')
  await second
  expect(first.key! < second.key).toBe(true)
  expect((await rest.get(list)).val()).toEqual({ [first.key!]: 'first', [second.key]: 'second' })
})

test('transactions run again when another client was faster', async () => {
  const db = open()
  const counter = rest.ref(db, 'counter')
  let runs = 0
  const add = (n: number | null) => {
    runs++
    return (n ?? 0) + 1
  }
  const results = await Promise.all([1, 2, 3].map(() => rest.runTransaction(counter, add)))
  expect(results.every(({ committed }) => committed)).toBe(true)
  expect((await rest.get(counter)).val()).toBe(3)
  expect(runs).toBeGreaterThanOrEqual(3)
  expect(await rest.runTransaction(counter, () => undefined)).toMatchObject({ committed: false })
})

test('onValue follows changes until it is stopped', async () => {
  const db = open()
  const at = rest.ref(db, 'a')
  const seen: unknown[] = []
  let wake = () => {}
  const stop = rest.onValue(at, snapshot => {
    seen.push(snapshot.val())
    wake()
  })
  const until = (n: number) =>
    new Promise<void>(resolve => {
      wake = () => seen.length >= n && resolve()
      wake()
    })
  await until(1)
  await rest.set(at, { b: 1 })
  await until(2)
  await rest.update(at, { c: 2 })
  await until(3)
  stop()
  expect(seen).toEqual([null, { b: 1 }, { b: 1, c: 2 }])
})

test('refusals are DogwoodErrors', async () => {
  const db = open()
  await expect(rest.set(rest.ref(db, 'a'), { 'b.c': 1 })).rejects.toBeInstanceOf(rest.DogwoodError)
})

describe('what JSON cannot say is refused, and deletes nothing', () => {
  const circular: Record<string, unknown> = {}
  circular.a = circular
  const wrong = { nan: Number.NaN, infinity: 1 / 0, undefined, function: () => 1, bigint: 10n, circular }
  const refused = expect.objectContaining({ code: 'INVALID_ARGUMENT' })

  test.each(Object.entries(wrong))('%s', async (_, value: any) => {
    const score = rest.ref(open(), 'score')
    await rest.set(score, { a: 1, b: 2 })
    for (const write of [
      () => rest.set(score, value),
      () => rest.set(score, { a: { b: [value] } }),
      () => rest.update(score, { a: value }),
      () => rest.setWithPriority(score, { a: value }, 1),
      () => rest.setWithPriority(score, 1, value ?? Number.NaN),
      () => rest.setReturning(score, { a: value }),
      () => rest.runTransaction(score, () => ({ a: value }))
    ])
      await expect(write(), String(write)).rejects.toEqual(refused)
    expect((await rest.get(score)).exportVal()).toEqual({ a: 1, b: 2 })
  })
})

test('a URL names one database over WebSocket, and another over HTTP', () => {
  const url = server.url(freshNamespace())
  const [live, plain] = [realtime.getDatabase(url), rest.getDatabase(url)]
  expect(live).not.toBe(plain)
  expect(realtime.getDatabase()).toBe(live)
  expect(rest.getDatabase()).toBe(plain)
  expect(realtime.getDatabase(url)).toBe(live)
  expect(rest.getDatabase(url)).toBe(plain)
  for (const { getDatabase } of [realtime, rest]) {
    expect(() => getDatabase('localhost')).toThrow('did you mean http://localhost?')
  }
})

test('a bound has no second key over HTTP', async () => {
  const list = rest.ref(open(), 'list')
  for (const bound of [rest.startAfter(1, 'a'), rest.endAt(1, 'b'), rest.equalTo(1, 'b')]) {
    const query = rest.query(list, rest.orderByValue(), bound)
    await expect(rest.get(query)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    await expect(rest.getAll(query.db, [query])).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  }
})

test('a child named __proto__ is a child as others', async () => {
  const db = open()
  await server.rest(db.store.target.namespace, 'PUT', '/', JSON.parse('{"a":{"__proto__":{"b":true},"c":1}}'))
  const snapshot = await rest.get(rest.ref(db, 'a'))
  for (const value of [snapshot.val(), snapshot.exportVal()]) {
    expect(value.b).toBeUndefined()
    expect(JSON.stringify(value)).toBe('{"__proto__":{"b":true},"c":1}')
  }
})
