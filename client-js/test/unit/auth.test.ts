// Signing in as `firebase/auth` does, through the container of an app.

import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import {
  type AppLike,
  connectDatabaseEmulator,
  type Database,
  deleteDatabase,
  getDatabase,
  goOffline,
  goOnline,
  onValue,
  ref,
  set,
  signInWithToken
} from '../../src/index.js'
import { FakeSocket } from '../support/fake-server.js'

const ANA = 'header.ana.signature'
const BO = 'header.bo.signature'

/** What `firebase/auth` has for other parts of an app. */
class FakeAuth {
  token: string | null = null
  readonly listeners = new Set<(token: string | null) => void>()
  /** Until then there is no auth in the app. */
  readonly begun: Promise<FakeAuth>
  begin = () => {}
  private there = false

  constructor() {
    this.begun = new Promise(resolve => {
      this.begin = () => {
        this.there = true
        resolve(this)
      }
    })
  }

  readonly container = {
    getProvider: (name: string) => {
      expect(name).toBe('auth-internal')
      return { getImmediate: () => (this.there ? this : null), get: () => this.begun }
    }
  }

  async getToken(): Promise<{ accessToken: string } | null> {
    return this.token === null ? null : { accessToken: this.token }
  }

  /** It tells each listener first, and soon, what there is already. */
  addAuthTokenListener(listener: (token: string | null) => void): void {
    this.listeners.add(listener)
    void Promise.resolve().then(() => listener(this.token))
  }

  removeAuthTokenListener(listener: (token: string | null) => void): void {
    this.listeners.delete(listener)
  }

  change(token: string | null): void {
    this.token = token
    for (const listener of this.listeners) listener(token)
  }
}

let auth: FakeAuth
let db: Database
const dbs: Database[] = []

const tick = (ms = 0) => vi.advanceTimersByTimeAsync(ms)
const asked = () => FakeSocket.last.sent.map(({ d }) => `${d.a} ${d.b.cred ?? d.b.p ?? ''}`)
const accept = () => FakeSocket.last.answer(FakeSocket.last.sent.at(-1).d.r)

function open(more: object = {}): Database {
  const options = { databaseURL: 'http://localhost:9000?ns=demo', WebSocket: FakeSocket, ...more }
  const opened = getDatabase({ options, container: auth.container } as AppLike)
  dbs.push(opened)
  return opened
}

async function connect(): Promise<void> {
  goOnline(db)
  await tick()
  FakeSocket.last.greet()
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] })
  FakeSocket.all.length = 0
  auth = new FakeAuth()
  db = open()
})
afterEach(() => {
  for (const opened of dbs.splice(0)) deleteDatabase(opened)
  vi.useRealTimers()
})

test('a user who signs in, changes and signs out does so on the open connection', async () => {
  auth.begin()
  await connect()
  expect(asked()).toEqual([])
  auth.change(ANA)
  const written = set(ref(db, 'a'), 1)
  expect(asked()).toEqual([`auth ${ANA}`])
  accept()
  expect(asked()).toEqual([`auth ${ANA}`, 'p /a'])
  accept()
  await written
  auth.change(BO)
  accept()
  auth.change(null)
  expect(asked().slice(2)).toEqual([`auth ${BO}`, 'unauth '])
  expect(FakeSocket.all).toHaveLength(1)
})

test('the same token again does nothing, and neither does being signed out again', async () => {
  auth.begin()
  auth.change(ANA)
  await connect()
  accept()
  auth.change(ANA)
  expect(asked()).toEqual([`auth ${ANA}`])
  auth.change(null)
  auth.change(null)
  expect(asked()).toEqual([`auth ${ANA}`, 'unauth '])
})

test('an auth that comes late signs in', async () => {
  await connect()
  auth.token = ANA
  auth.begin()
  await tick()
  expect(asked()).toEqual([`auth ${ANA}`])
})

test('nothing is sent before the database is used', async () => {
  auth.begin()
  auth.change(ANA)
  await tick(60_000)
  auth.change(BO)
  await tick(60_000)
  expect(FakeSocket.all).toEqual([])
  onValue(ref(db, 'a'), () => {})
  await tick()
  FakeSocket.last.greet()
  expect(asked()).toEqual([`auth ${BO}`, 'q /a'])
})

test('a change while a connection opens counts, and one while offline', async () => {
  auth.begin()
  auth.change(ANA)
  goOnline(db)
  await tick()
  auth.change(BO)
  goOffline(db)
  auth.change(ANA)
  await connect()
  expect(asked()).toEqual([`auth ${ANA}`])
  accept()
  FakeSocket.last.onclose()
  await tick(1000)
  auth.change(BO)
  FakeSocket.last.greet()
  expect(asked()).toEqual([`auth ${BO}`])
})

test('another token of the application stays', async () => {
  auth.begin()
  connectDatabaseEmulator(db, 'localhost', 9000, { mockUserToken: 'mock' })
  await connect()
  accept()
  auth.change(ANA)
  expect(asked()).toEqual(['gauth mock'])
  void signInWithToken(db, 'secret').catch(() => {})
  await tick()
  auth.change(null)
  expect(asked()).toEqual(['gauth mock', 'gauth secret'])
  const before = auth.listeners.size
  open({ token: () => 'own' })
  await tick()
  expect(auth.listeners.size).toBe(before)
})

test('nothing is left in the auth of a database that is deleted', async () => {
  auth.begin()
  expect(getDatabase(db.app)).toBe(db)
  await tick()
  expect(auth.listeners.size).toBe(1)
  deleteDatabase(db)
  expect(auth.listeners.size).toBe(0)
  auth = new FakeAuth()
  const other = open()
  deleteDatabase(other)
  auth.begin()
  await tick()
  expect(auth.listeners.size).toBe(0)
})
