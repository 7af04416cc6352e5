import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import Wilddog, { type Snapshot } from '../../src/wilddog.js'
import { freshNamespace, Server } from '../support/server.js'

let server: Server

beforeAll(async () => {
  server = await new Server().start()
}, 120_000)
afterAll(async () => {
  Wilddog.goOffline()
  await server?.stop()
})

const open = (path = '', ns = freshNamespace()) => new Wilddog(`http://${server.host}/${path}?ns=${ns}`)

test('the snippet', async () => {
  const ns = freshNamespace()
  await server.rest(ns, 'PUT', '/web/org/users/mchen', { groups: { alpha: true } })
  const ref = open('web/org/users/mchen/groups/alpha', ns)
  const value = await new Promise(resolve => {
    ref.once('value', snapshot => resolve(snapshot.val()))
  })
  expect(value).toBe(true)
})

test('names are functions', () => {
  const ref = open('a/b')
  expect(ref.key()).toBe('b')
  expect(ref.parent()!.key()).toBe('a')
  expect(ref.root().key()).toBe(null)
  expect(ref.child('c').toString()).toMatch(/\/a\/b\/c$/)
})

test('writes call back', async () => {
  const ref = open('w')
  const error = await new Promise(resolve => ref.set({ n: 1 }, resolve))
  expect(error).toBe(null)
  await ref.update({ m: 2 })
  await ref.setPriority(5)
  const snapshot = await ref.once('value')
  expect(snapshot.val()).toEqual({ n: 1, m: 2 })
  expect(snapshot.getPriority()).toBe(5)
  expect(snapshot.numChildren()).toBe(2)
  const bad = await new Promise<Error | null>(resolve => {
    ref.child('n').transaction(
      () => undefined,
      (error, committed) => resolve(committed ? error : null)
    )
  })
  expect(bad).toBe(null)
  await ref.remove()
})

test('on, off and contexts', async () => {
  const ref = open('list')
  const seen: unknown[] = []
  const context = { name: 'ctx' }
  function added(this: { name: string }, snapshot: Snapshot, previous?: string | null) {
    seen.push([this.name, snapshot.key(), previous])
  }
  ref.on('child_added', added as any, context)
  const first = await ref.push('x')
  await ref.push('y')
  ref.off('child_added', added as any, context)
  await ref.push('z')
  expect(seen).toEqual([
    ['ctx', first.key(), null],
    ['ctx', expect.any(String), first.key()]
  ])
})

test('once is once, also of children that come together', async () => {
  const ns = freshNamespace()
  await server.rest(ns, 'PUT', '/list', { a: 1, b: 2, c: 3 })
  const list = open('list', ns)
  const keys: unknown[] = []
  const first = await list.once('child_added', snapshot => keys.push(snapshot.key()))
  await list.once('value')
  expect([first.key(), keys]).toEqual(['a', ['a']])
})

test('queries and limit', async () => {
  const ref = open('q')
  await ref.set({ a: 1, b: 2, c: 3 })
  const keys = async (query: { once(type: 'value'): Promise<Snapshot> }) =>
    Object.keys((await query.once('value')).val())
  expect(await keys(ref.limit(2))).toEqual(['b', 'c'])
  expect(await keys(ref.orderByValue().startAt(2))).toEqual(['b', 'c'])
  expect(await keys(ref.orderByKey().endAt('b').limitToFirst(1))).toEqual(['a'])
})

test('a refused token goes to the callback, and is no unhandled rejection', async () => {
  const warned = vi.spyOn(console, 'warn').mockImplementation(() => {})
  const unhandled = vi.fn()
  const before = process.listeners('unhandledRejection')
  process.removeAllListeners('unhandledRejection').on('unhandledRejection', unhandled)
  const told = await new Promise<unknown[]>(resolve => {
    open('t').authWithCustomToken('bogus.token.here', (...all) => resolve(all))
  })
  await new Promise(resolve => setTimeout(resolve))
  process.removeAllListeners('unhandledRejection')
  for (const listener of before) process.on('unhandledRejection', listener)
  warned.mockRestore()
  expect(told).toEqual([expect.objectContaining({ code: 'INVALID_TOKEN' }), null])
  expect(unhandled).not.toHaveBeenCalled()
  await expect(open('t').authWithCustomToken('')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
})

test('transactions, disconnects and sign-in', async () => {
  const ref = open('t')
  const { committed, snapshot } = await ref.transaction(n => (n || 0) + 1)
  expect([committed, snapshot.val()]).toEqual([true, 1])
  await ref.child('gone').onDisconnect().set(true)
  const seen: unknown[] = []
  ref.onAuth(auth => seen.push(auth?.token ?? null))
  await ref.authWithCustomToken('owner')
  ref.unauth()
  expect(seen).toEqual([null, 'owner', null])
})
