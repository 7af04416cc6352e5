// What the end of a database does to all that waits for the server.

import { beforeEach, expect, test } from 'vitest'
import {
  connectionState,
  type Database,
  deleteDatabase,
  get,
  getCount,
  getDatabase,
  goOnline,
  onDisconnect,
  onValue,
  push,
  ref,
  runTransaction,
  set,
  signInWithToken,
  update,
  values
} from '../../src/index.js'
import { FakeSocket } from '../support/fake-server.js'

let db: Database

beforeEach(() => {
  FakeSocket.all.length = 0
  db = getDatabase({ databaseURL: 'http://localhost:9000', WebSocket: FakeSocket })
})

const soon = () => new Promise(resolve => setTimeout(resolve))

// All that a program may wait for.
const waits: Record<string, (db: Database) => Promise<unknown>> = {
  set: db => set(ref(db, 'a'), 1),
  push: db => Promise.resolve(push(ref(db, 'list'), 1)),
  update: db => update(ref(db), { b: 1, 'c/d': 2 }),
  get: db => get(ref(db, 'other')),
  getCount: db => getCount(ref(db, 'other')),
  onDisconnect: db => onDisconnect(ref(db, 'a')).set(1),
  runTransaction: db => runTransaction(ref(db, 't'), () => 1),
  signInWithToken: db => signInWithToken(db, 'x'),
  'a loop': db => values(ref(db, 'v')).next(),
  'a loop below another': db => values(ref(db, 'v/below')).next(),
  'a listener': db => new Promise((_, reject) => onValue(ref(db, 'v'), () => {}, reject)),
  'a loop over .info': async db => {
    for await (const _ of values(ref(db, '.info/connected')));
  }
}

const codes = (all: readonly Promise<unknown>[]) =>
  Promise.all(
    all.map(one =>
      one.then(
        () => 'done',
        (error: any) => error.code
      )
    )
  )

for (const greeted of [false, true]) {
  test(`what waits fails, ${greeted ? 'connected' : 'not connected'}`, async () => {
    goOnline(db)
    await soon()
    if (greeted) FakeSocket.last.greet({ f: ['n'] })
    const results = codes(Object.values(waits).map(wait => wait(db)))
    await soon()
    deleteDatabase(db)
    // A write on condition was perhaps carried out.
    const expected = Object.keys(waits).map(name =>
      greeted && name === 'runTransaction' ? 'DISCONNECT' : 'CLOSED'
    )
    expect(await results).toEqual(expected)
    expect(FakeSocket.last.closed).toBe(true)
  })
}

test('calls after the end fail', async () => {
  deleteDatabase(db)
  const { 'a loop over .info': _, ...later } = waits
  const results = await codes(Object.values(later).map(wait => wait(db)))
  expect(new Set(results)).toEqual(new Set(['CLOSED']))
  goOnline(db)
  await soon()
  expect(connectionState(db)).toBe('offline')
  expect(FakeSocket.all).toEqual([])
})

test('the error says what was ended', async () => {
  const result = set(ref(db, 'a'), 1)
  deleteDatabase(db)
  await expect(result).rejects.toThrow('CLOSED: the database was deleted')
})

test('a listener may do anything when it is ended', async () => {
  const again: string[] = []
  const listen = () => {
    onValue(
      ref(db, 'a'),
      () => {},
      error => {
        again.push((error as any).code)
        if (again.length < 3) listen()
      }
    )
  }
  listen()
  deleteDatabase(db)
  for (let i = 0; i < 3; i++) await soon()
  expect(again).toEqual(['CLOSED', 'CLOSED', 'CLOSED'])
})
