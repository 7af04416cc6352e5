// Values and arguments that the client refuses.

import { runInNewContext } from 'node:vm'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import * as realtime from '../../src/index.js'
import {
  connectionState,
  type Database,
  deleteDatabase,
  getDatabase,
  goOffline,
  goOnline,
  limitToLast,
  onValue,
  push,
  query,
  ref,
  set,
  signOut,
  update
} from '../../src/index.js'
import * as rest from '../../src/rest.js'
import { FakeSocket } from '../support/fake-server.js'

class Empty {}
class Failure extends Error {
  readonly reason = 'none'
}
class Point {
  constructor(
    readonly x: number,
    readonly y: number
  ) {}
}

describe('a wrong argument is answered with what is allowed', () => {
  const db = getDatabase({ databaseURL: 'http://localhost:9000?ns=words', WebSocket: FakeSocket })
  const plain = rest.getDatabase('http://127.0.0.1:1?ns=words')
  const keys = 'keys have no . $ # [ ] / and no control characters'
  const deep = Array.from({ length: 33 }, () => 'a').join('/')

  test.each<[message: string, call: () => unknown]>([
    [`bad path "a.b": ${keys}`, () => ref(db, 'a.b')],
    [`cannot write key "a.b" at /x: ${keys}`, () => set(ref(db, 'x'), { 'a.b': 1 })],
    ['cannot write key "" at /x: keys are not empty', () => set(ref(db, 'x'), { '': 1 })],
    [
      'cannot write key "a" at /x: a .value has no children',
      () => set(ref(db, 'x'), { '.value': 1, a: 1 } as any)
    ],
    [`bad path "/x/a.b": ${keys}`, () => update(ref(db, 'x'), { 'a.b': 1 })],
    [`/${deep} is too deep: a path has at most 32 keys`, () => set(ref(db, deep), 1)],
    [
      'equalTo takes a string, a number, a boolean or null, not an object',
      () => realtime.equalTo({ a: 1 } as any)
    ],
    [
      'startAt takes a string, a number, a boolean or null, not an object',
      () => realtime.startAt(['u1', ['x']] as any)
    ],
    ['orderByChildren needs 1 to 4 paths', () => realtime.orderByChildren(...([] as unknown as ['x']))],
    ['orderByChildren needs 1 to 4 paths', () => realtime.orderByChildren('a', 'b', 'c', 'd', 'e')],
    ['orderByChildren has a path twice', () => realtime.orderByChildren('a/b', 'c', '/a/b')],
    [
      'bounds of orderByChildren are lists of 1 to 2 values',
      () => query(ref(db, 'x'), realtime.orderByChildren('a', 'b'), realtime.startAt('u1'))
    ],
    [
      'bounds of orderByChildren are lists of 1 to 2 values',
      () => query(ref(db, 'x'), realtime.orderByChildren('a', 'b'), realtime.endAt([1, 2, 3]))
    ],
    [
      'a bound with a key has a value for each path',
      () => query(ref(db, 'x'), realtime.orderByChildren('a', 'b'), realtime.startAt([1], 'k'))
    ],
    ['startAt takes a string, a number, a boolean or null, not NaN', () => realtime.startAt(Number.NaN)],
    [
      'equalTo takes a string, a number, a boolean or null, not undefined',
      () => realtime.equalTo(undefined as any)
    ],
    ...[5, '', null, undefined].map((token): [string, () => unknown] => [
      'expected a token, which is a string and not empty, or a function that returns one',
      () => rest.signInWithToken(plain, token as any)
    ])
  ])('%s', (message, call) => {
    expect(call).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT', message }))
  })

  test.each([5, '', null, undefined])('a token that is %o', async token => {
    await expect(realtime.signInWithToken(db, token as any)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT'
    })
  })
})

describe('what is no value', () => {
  let db: Database
  let plain: Database

  beforeEach(() => {
    db = getDatabase({ databaseURL: 'http://localhost:9000?ns=values', WebSocket: FakeSocket })
    plain = rest.getDatabase('http://127.0.0.1:1?ns=values')
  })
  afterEach(() => deleteDatabase(db))

  const kinds: [name: string, value: object, hint: string][] = [
    ['Date', new Date(0), 'use date.getTime() or serverTimestamp()'],
    ['Date', runInNewContext('new Date(0)'), 'use date.getTime() or serverTimestamp()'],
    ['Promise', Promise.resolve(1), 'await it'],
    ['Promise', runInNewContext('Promise.resolve(1)'), 'await it'],
    ...[
      new Map([['a', 1]]),
      new Set([1]),
      /a/,
      new URL('http://localhost/'),
      new Error('no'),
      new TypeError('no'),
      new Failure('no'),
      new Number(5),
      new String('ab'),
      new Boolean(true),
      new Uint8Array([1, 2]),
      Buffer.from('ab'),
      new ArrayBuffer(2),
      new WeakMap(),
      new Map().keys(),
      new Empty()
    ].map((value): [string, object, string] => [
      value.constructor.name,
      value,
      'use a plain object or a primitive'
    ])
  ]

  test.each(kinds)('%s: %o', async (name, value, hint) => {
    const refused = expect.objectContaining({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining(`cannot write an object of class ${name} (${hint})`)
    })
    expect(() => set(ref(db, 'a'), value)).toThrow(refused)
    expect(() => set(ref(db, 'a'), { b: [value] })).toThrow(refused)
    expect(() => update(ref(db, 'a'), { b: value })).toThrow(refused)
    expect(() => update(ref(db, 'a'), value)).toThrow(/an update is a plain object/)
    // Over HTTP a value with toJSON is a text before it is looked at.
    await expect(rest.set(rest.ref(plain, 'a'), { b: value })).rejects.toEqual(refused)
  })

  test.each([
    ['a reference', () => ref(db, 'b/c')],
    ['a query', () => query(ref(db, 'b/c'), limitToLast(1))],
    ['a new reference', () => push(ref(db, 'b/c'))]
  ])('%s', async (_, make) => {
    const value = make() as object
    const refused = expect.objectContaining({
      code: 'INVALID_ARGUMENT',
      message: expect.stringMatching(/cannot write a reference \(use its path "\/b\/c.*"\) at \/a/)
    })
    // A new reference is also a promise: nothing awaits it here.
    const wrapped = { x: value }
    expect(() => set(ref(db, 'a'), value)).toThrow(refused)
    expect(() => set(ref(db, 'a'), wrapped)).toThrow(refused)
    expect(() => update(ref(db, 'a'), value)).toThrow(/an update is a plain object/)
  })

  test.each([
    ['a class of data', new Point(1, 2)],
    [
      'a class with a name of its own',
      Object.assign(Object.create({ [Symbol.toStringTag]: 'Point' }), { x: 1, y: 2 })
    ],
    ['an object of another realm', runInNewContext('({ x: 1, y: 2 })')],
    ['an object without a prototype', Object.assign(Object.create(null), { x: 1, y: 2 })]
  ])('but %s is one', (_, value) => {
    void set(ref(db, 'a'), value).catch(() => {})
    void set(ref(db, 'b'), [value]).catch(() => {})
    void update(ref(db), { c: value }).catch(() => {})
    const seen: unknown[] = []
    for (const path of ['a', 'b', 'c'])
      onValue(ref(db, path), s => void seen.push(s.val()), { onlyOnce: true })
    expect(seen).toMatchObject([value, [value], value].map(v => JSON.parse(JSON.stringify(v))))
  })
})

describe('an argument of another kind', () => {
  const needs = (message: string) => expect.objectContaining({ code: 'INVALID_ARGUMENT', message })
  const reference = needs('expected a reference or a query, as ref(db, path) returns it')
  const database = needs('expected a database, as getDatabase returns it')
  const callback = needs('expected a function as callback')
  // The failure of a call, whether it is thrown or a rejection.
  const failure = async (call: () => unknown) => {
    try {
      await call()
    } catch (error) {
      return error
    }
  }

  const entries: [string, any, (url: string) => Database][] = [
    ['realtime', realtime, url => getDatabase({ databaseURL: url, WebSocket: FakeSocket })],
    ['REST', rest, url => rest.getDatabase(url)]
  ]
  describe.each(entries)('%s', (_, client, open) => {
    let db: Database
    beforeEach(() => {
      db = open('http://127.0.0.1:1?ns=kinds')
    })
    afterEach(() => {
      if (client === realtime) deleteDatabase(db)
    })

    const wants: Record<string, unknown[]> = {
      child: ['a'],
      explain: [],
      explainSet: [1],
      explainUpdate: [{ a: 1 }],
      get: [],
      getCount: [],
      keysOf: ['a/$key'],
      off: [],
      onChildAdded: [() => {}],
      onDisconnect: [],
      onDisconnectIf: [null],
      onValue: [() => {}],
      push: [1],
      query: [limitToLast(1)],
      refresh: [{}],
      remove: [],
      runTransaction: [() => 1],
      set: [1],
      setPriority: [1],
      setReturning: [1],
      setWithPriority: [1, 1],
      update: [{ a: 1 }],
      updateReturning: [{ a: 1 }]
    }
    const has = (name: string) => name in client
    test.each(Object.entries(wants).filter(([name]) => has(name)))('%s', async (name, more) => {
      for (const wrong of ['x', undefined, null, db, {}, 5])
        expect(await failure(() => client[name](wrong, ...more)), `${wrong}`).toEqual(reference)
    })

    test('a database', async () => {
      for (const wrong of ['x', undefined, null, {}, client.ref(db)]) {
        expect(await failure(() => client.ref(wrong))).toEqual(database)
        expect(await failure(() => client.ref(wrong, 'a'))).toEqual(database)
        expect(await failure(() => client.getAll(wrong, []))).toEqual(database)
        expect(await failure(() => client.refFromURL(wrong, 'http://127.0.0.1:1/a'))).toEqual(database)
      }
      expect(await failure(() => client.getAll(db, ['a']))).toEqual(reference)
    })

    const calling = ['onValue', 'onChildAdded', 'onChildRemoved', 'runTransaction'].filter(has)
    test.each(calling)('%s without a callback', async name => {
      expect(await failure(() => client[name](client.ref(db, 'a')))).toEqual(callback)
      expect(await failure(() => client[name](client.ref(db, 'a'), { onlyOnce: true }))).toEqual(callback)
    })
  })

  test('of what needs a connection', async () => {
    for (const use of [goOnline, goOffline, deleteDatabase, signOut, connectionState])
      expect(await failure(() => use('x' as never))).toEqual(database)
  })
})
