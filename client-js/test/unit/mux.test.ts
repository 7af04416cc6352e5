import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { split } from '../../src/core/frames.js'
import { Mux } from '../../src/persistence/mux.js'
import { FakeSocket } from '../support/fake-server.js'
import { unsigned } from '../support/tokens.js'

let mux: Mux
let upper: FakeSocket

/** A tab: what it has received, and whether it was ended. */
interface Tab {
  id: string
  got: any[]
  ended: boolean
  send(action: string, body: object, r?: number): void
}

function tab(id: string): Tab {
  const tab: Tab = {
    id,
    got: [],
    ended: false,
    send: (a, b, r = 1) => mux.receive(id, JSON.stringify({ t: 'd', d: { r, a, b } }))
  }
  mux.open(
    id,
    text => tab.got.push(JSON.parse(text).d),
    () => {
      tab.ended = true
    }
  )
  return tab
}

beforeEach(() => {
  vi.useFakeTimers()
  mux = new Mux(FakeSocket, 'ws://localhost/.ws?v=5')
})
afterEach(() => {
  mux.stop()
  vi.useRealTimers()
})

function two(): [Tab, Tab] {
  const one = tab('one')
  upper = FakeSocket.last
  upper.greet()
  const other = tab('other')
  for (const tab of [one, other]) tab.got.length = 0
  return [one, other]
}

test('a tab that comes later gets the greeting with the right time', () => {
  tab('one')
  upper = FakeSocket.last
  upper.greet({ ts: Date.now() + 5000 })
  vi.advanceTimersByTime(60_000)
  expect(tab('other').got[0]).toMatchObject({ t: 'h', d: { ts: Date.now() + 5000, s: 'session' } })
})

test('a greeting that was read late says nothing about the clocks', () => {
  tab('one')
  const ts = Date.now()
  vi.advanceTimersByTime(4000)
  FakeSocket.last.greet({ ts })
  expect(tab('other').got[0].d.ts).toBe(Date.now())
})

test('answers go to who has asked, with the number of the question', () => {
  const [one, other] = two()
  one.send('p', { p: '/a', d: 1 }, 7)
  other.send('p', { p: '/a', d: 2 }, 7)
  const [first, second] = upper.requests('p')
  upper.answer(second.r, 'ok', 'second')
  upper.answer(first.r, 'ok', 'first')
  expect(one.got).toEqual([{ r: 7, b: { s: 'ok', d: 'first' } }])
  expect(other.got).toEqual([{ r: 7, b: { s: 'ok', d: 'second' } }])
})

test('pushes go to who listens, with its own tag', () => {
  const [one, other] = two()
  one.send('q', { p: '/a', h: '' })
  other.send('q', { p: '/a', q: { l: 1, vf: 'l' }, t: 1, h: '' })
  const [first, second] = upper.requests('q')
  upper.push('d', { p: 'a', d: { x: 1, y: 2 }, t: first.b.t })
  upper.push('d', { p: 'a', d: { x: 1 }, t: second.b.t })
  expect(one.got).toEqual([{ a: 'd', b: { p: 'a', d: { x: 1, y: 2 } } }])
  expect(other.got).toEqual([{ a: 'd', b: { p: 'a', d: { x: 1 }, t: 1 } }])
  other.send('n', { p: '/a', q: { l: 1, vf: 'l' }, t: 1 })
  expect(upper.requests('n')[0].b.t).toBe(second.b.t)
})

test('notices go to who listens for them, until its end', () => {
  const [one, other] = two()
  for (const tab of [one, other]) tab.send('nt', { p: '/a', t: 1, chg: 1 })
  const [first, second] = upper.requests('nt')
  expect(first.b.t).not.toBe(second.b.t)
  const d = { revision: 1, children: ['x'], all: false }
  upper.push('nt', { p: 'a', d, t: second.b.t })
  expect([one.got, other.got]).toEqual([[], [{ a: 'nt', b: { p: 'a', d, t: 1 } }]])
  other.send('n', { p: '/a', t: 1 })
  mux.close('one')
  expect(upper.requests('n').map(({ b }) => b.t)).toEqual([second.b.t, first.b.t])
})

test('a tab that goes stops listening, and its plans are carried out', () => {
  const [one, other] = two()
  one.send('o', { p: '/online/one', d: false })
  one.send('o', { p: '/gone', d: 1 })
  one.send('oc', { p: '/gone', d: null })
  other.send('o', { p: '/online/other', d: false })
  one.send('q', { p: '/a', h: '' })
  mux.close('one')
  expect(upper.requests('n')).toHaveLength(1)
  expect(upper.requests('p').map(({ b }) => b)).toEqual([{ p: '/online/one', d: false }])
})

test('a listen that the server has refused or ended is no more', () => {
  const [one] = two()
  const query = { l: 1, vf: 'l' }
  for (const end of [
    () => upper.answer(upper.requests('q').at(-1).r, 'permission_denied'),
    () => upper.push('c', { p: 'a', q: [query] })
  ]) {
    one.send('q', { p: '/a', q: query, t: 1, h: '' })
    end()
    one.send('q', { p: '/a', q: query, t: 1, h: '' })
    upper.answer(upper.requests('q').at(-1).r)
    one.send('n', { p: '/a', q: query, t: 1 })
    expect(upper.requests('n').at(-1).b.t).toBe(upper.requests('q').at(-1).b.t)
  }
  one.send('q', { p: '/a', h: '' })
  upper.push('c', { p: 'a', q: [query] })
  one.send('n', { p: '/a' })
  expect(upper.requests('n').at(-1).b.t).toBe(upper.requests('q').at(-1).b.t)
  upper.sent.length = 0
  mux.close('one')
  expect(upper.requests('n')).toEqual([])
})

/** What a socket was asked about onDisconnect operations, and to write. */
const planned = (socket: FakeSocket): unknown[] =>
  socket.sent.filter(({ t, d }) => t === 'd' && /^(o.?|p|m)$/.test(d.a)).map(({ d }) => [d.a, d.b.p, d.b.d])

test('what a tab cancels stays planned for the others, in their order', () => {
  const [one, other] = two()
  one.send('o', { p: '/online/ana', d: false })
  other.send('o', { p: '/online', d: { ana: 1, bo: 2 } })
  one.send('o', { p: '/online/bo', d: 3 })
  other.send('o', { p: '/elsewhere', d: 4 })
  upper.sent.length = 0
  one.send('oc', { p: '/online/ana', d: null })
  expect(planned(upper)).toEqual([
    ['oc', '/online/ana', null],
    ['o', '/online', { ana: 1, bo: 2 }],
    ['o', '/online/bo', 3]
  ])
  upper.sent.length = 0
  other.send('oc', { p: '/online', d: null })
  one.send('oc', { p: '/online/bo', d: null })
  expect(planned(upper)).toEqual([
    ['oc', '/online', null],
    ['o', '/online/bo', 3],
    ['oc', '/online/bo', null]
  ])
})

test('what is carried out for a tab that goes takes nothing from the others', () => {
  const [one, other] = two()
  one.send('o', { p: '/rooms/r/ana', d: null })
  one.send('o', { p: '/rooms/r/count', d: 0 })
  other.send('om', { p: '/rooms/r/ana', d: { 'tabs/b': null } })
  other.send('o', { p: '/rooms/r/count', d: 1 })
  upper.sent.length = 0
  mux.close('one')
  expect(planned(upper)).toEqual([
    ['oc', '/rooms/r/ana', null],
    ['p', '/rooms/r/ana', null],
    ['oc', '/rooms/r/count', null],
    ['p', '/rooms/r/count', 0],
    ['om', '/rooms/r/ana', { 'tabs/b': null }],
    ['o', '/rooms/r/count', 1]
  ])
})

test('of what is cancelled in part, the other parts are carried out', () => {
  const [one] = two()
  one.send('o', { p: '/a', d: { b: { x: 1, y: 2, '.priority': 5 }, c: 3, leaf: { '.sv': 'timestamp' } } })
  one.send('om', { p: '/', d: { 'm/b': 1, n: 2 } })
  one.send('o', { p: '/gone', d: null })
  for (const p of ['/a/b/x', '/a/leaf/z', '/m', '/gone/x']) one.send('oc', { p, d: null })
  one.send('om', { p: '/', d: { n: 4 } })
  upper.sent.length = 0
  mux.close('one')
  expect(planned(upper).filter(([action]: any) => action !== 'oc')).toEqual([
    ['m', '/a', { 'b/y': 2, c: 3, leaf: { '.sv': 'timestamp' } }],
    ['m', '/', { n: 4 }]
  ])
})

test('the last tab closes the connection', () => {
  const [one, other] = two()
  mux.close(one.id)
  expect(upper.closed).toBe(false)
  mux.close(other.id)
  expect(upper.closed).toBe(true)
})

test('the end of the connection ends all tabs, and the next one names the session', () => {
  const tabs = two()
  upper.onclose()
  expect(tabs.map(({ ended }) => ended)).toEqual([true, true])
  tab('again')
  expect(FakeSocket.last.url).toBe('ws://localhost/.ws?v=5&ls=session')
})

const PING = '{"t":"c","d":{"t":"p","d":{}}}'

test('a server that does not answer is left', () => {
  const [one] = two()
  mux.receive('one', PING)
  vi.advanceTimersByTime(8_000)
  expect(one.ended).toBe(true)
})

test('a server that does not answer is left in time, though another tab asks again', () => {
  const [one] = two()
  mux.receive('one', PING)
  vi.advanceTimersByTime(5_000)
  mux.receive('other', PING)
  vi.advanceTimersByTime(3_000)
  expect(one.ended).toBe(true)
})

test('a server that does not greet is left', () => {
  const one = tab('one')
  vi.advanceTimersByTime(15_000)
  expect([one.ended, FakeSocket.last.closed]).toEqual([true, true])
})

test('tabs hear that the server is there while a long write is sent on', () => {
  const tabs = two()
  upper.bufferedAmount = 9_000
  mux.receive('one', PING)
  upper.bufferedAmount = 8_000
  vi.advanceTimersByTime(8_000)
  expect(tabs.map(({ got, ended }) => [got, ended])).toEqual([
    [[{ t: 'o' }], false],
    [[{ t: 'o' }], false]
  ])
  mux.receive('one', PING)
  vi.advanceTimersByTime(8_000)
  expect(tabs.map(({ ended }) => ended)).toEqual([true, true])
})

test('tabs hear that the server is there while a long message comes', () => {
  const [one, other] = two()
  one.send('q', { p: '/a', h: '' })
  const { t } = upper.requests('q')[0].b
  const value = 'x'.repeat(100_000)
  const pieces = split(JSON.stringify({ t: 'd', d: { a: 'd', b: { p: 'a', d: value, t } } }))
  for (const [i, data] of pieces.entries()) {
    if (i) vi.advanceTimersByTime(i % 2 ? 20_000 : 500)
    upper.onmessage({ data })
  }
  const life = Array(1 + Math.floor((pieces.length - 1) / 2)).fill({ t: 'o' })
  expect(other.got).toEqual(life)
  expect(one.got).toEqual([...life, { a: 'd', b: { p: 'a', d: value } }])
})

// ---- several users

const ana = unsigned({ sub: 'ana', iat: 1, exp: 2 })
const anaLater = unsigned({ sub: 'ana', iat: 3, exp: 4 })
const anaAdmin = unsigned({ sub: 'ana', admin: true, iat: 1, exp: 2 })
const bo = unsigned({ sub: 'bo', iat: 1, exp: 2 })

/** What a socket was asked: actions, and of credentials and writes what they are about. */
const asked = (socket: FakeSocket): string[] =>
  socket.sent.filter(({ t }) => t === 'd').map(({ d }) => `${d.a} ${d.b.cred ?? d.b.p ?? ''}`)

test('each user has a connection; what is asked meanwhile waits for it', () => {
  const [one, other] = two()
  one.send('auth', { cred: ana })
  one.send('p', { p: '/a', d: 1 }, 2)
  other.send('auth', { cred: bo })
  other.send('p', { p: '/b', d: 1 }, 2)
  const second = FakeSocket.last
  expect(second).not.toBe(upper)
  expect(asked(second)).toEqual([])
  second.greet()
  expect(other.got, 'it was greeted before').toEqual([])
  upper.answer(upper.requests('auth')[0].r)
  second.answer(second.requests('auth')[0].r)
  one.got.length = other.got.length = 0
  expect(asked(upper)).toEqual([`auth ${ana}`, 'p /a'])
  expect(asked(second)).toEqual([`auth ${bo}`, 'p /b'])
  second.answer(second.requests('p')[0].r, 'ok')
  expect(other.got).toEqual([{ r: 2, b: { s: 'ok', d: '' } }])
})

test('a user who is not signed in does not use the connection of one who is', () => {
  const [one, other] = two()
  one.send('auth', { cred: ana })
  other.send('q', { p: '/b', h: '' })
  FakeSocket.last.greet()
  expect(asked(upper)).toEqual([`auth ${ana}`])
  expect(asked(FakeSocket.last)).toEqual(['q /b'])
})

test('a connection whose user has left belongs to no user', () => {
  const [one, other] = two()
  one.send('auth', { cred: ana })
  mux.close('one')
  other.send('q', { p: '/b', h: '' })
  expect(asked(upper)).toEqual([`auth ${ana}`])
  expect(upper.closed).toBe(true)
})

test('a user who signs in as another, or out, leaves the ones that stay', () => {
  for (const [action, body] of [
    ['auth', { cred: bo }],
    ['auth', { cred: anaAdmin }],
    ['gauth', { cred: 'secret' }],
    ['unauth', {}]
  ] as const) {
    const [one, other] = two()
    one.send('auth', { cred: ana })
    other.send('auth', { cred: ana })
    upper.answer(upper.requests('auth')[1].r)
    one.send(action, body)
    one.send('p', { p: '/b', d: 1 })
    expect([one.ended, other.ended]).toEqual([true, false])
    expect(asked(upper)).toEqual([`auth ${ana}`, `auth ${ana}`])
    const back = tab('one')
    if (action === 'unauth') back.send('p', { p: '/b', d: 1 })
    else back.send(action, body)
    expect(FakeSocket.last).not.toBe(upper)
    mux.stop()
  }
})

test('the only user of a connection may sign in as any other', () => {
  const one = tab('one')
  upper = FakeSocket.last
  upper.greet()
  one.send('q', { p: '/a', h: '' })
  one.send('auth', { cred: ana })
  one.send('unauth', {})
  one.send('auth', { cred: bo })
  expect(one.ended).toBe(false)
  expect(asked(upper)).toEqual(['q /a', `auth ${ana}`, 'unauth ', `auth ${bo}`])
  const other = tab('other')
  other.send('auth', { cred: ana })
  expect(asked(upper)).toHaveLength(4)
})

test('a fresh token of the same user goes on sharing', () => {
  const [one, other] = two()
  one.send('auth', { cred: ana })
  other.send('auth', { cred: anaLater })
  expect(FakeSocket.last).toBe(upper)
  for (const { r } of upper.requests('auth')) upper.answer(r)
  one.send('auth', { cred: anaLater })
  expect([one.ended, other.ended]).toEqual([false, false])
  expect(asked(upper)).toEqual([`auth ${ana}`, `auth ${anaLater}`, `auth ${anaLater}`])
})

test('nothing is asked on a shared connection before its credential was accepted', () => {
  const [one, other] = two()
  one.send('auth', { cred: ana })
  other.send('auth', { cred: anaLater }, 1)
  other.send('p', { p: '/a', d: 1 }, 2)
  expect(upper.requests('p')).toEqual([])
  upper.answer(upper.requests('auth')[1].r)
  expect(upper.requests('p')).toHaveLength(1)

  const third = tab('third')
  third.send('auth', { cred: ana }, 1)
  third.send('p', { p: '/forged', d: 1 }, 2)
  upper.answer(upper.requests('auth')[2].r, 'invalid_token')
  expect(third.got.at(-1)).toMatchObject({ r: 1, b: { s: 'invalid_token' } })
  expect([one.ended, other.ended, third.ended]).toEqual([false, false, true])
  expect(upper.requests('p')).toHaveLength(1)
})

test('a user who signs out while the credential is checked leaves', () => {
  const [one, other] = two()
  one.send('auth', { cred: ana })
  other.send('auth', { cred: ana })
  mux.close('one')
  other.send('unauth', {})
  expect(other.ended).toBe(true)
})

test('a connection that has lost its user ends for all', () => {
  const tabs = two()
  for (const tab of tabs) tab.send('auth', { cred: ana })
  upper.push('ac', { s: 'expired_token', d: '' })
  for (const { got, ended } of tabs) {
    expect(got).toContainEqual({ a: 'ac', b: { s: 'expired_token', d: '' } })
    expect(ended).toBe(true)
  }
})

test('each connection that ended is named once', () => {
  const [one, other] = two()
  one.send('auth', { cred: ana })
  other.send('auth', { cred: bo })
  const second = FakeSocket.last
  second.greet({ s: 'second' })
  upper.onclose()
  second.onclose()
  tab('one').send('auth', { cred: ana })
  FakeSocket.last.greet()
  const named = [FakeSocket.last.url]
  tab('one').send('auth', { cred: ana })
  tab('other').send('auth', { cred: bo })
  named.push(FakeSocket.last.url)
  expect(named).toEqual(['ws://localhost/.ws?v=5&ls=second', 'ws://localhost/.ws?v=5&ls=session'])
})
