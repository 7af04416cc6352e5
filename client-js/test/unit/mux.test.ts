import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Mux } from '../../src/persistence/mux.js'
import { FakeSocket } from '../support/fake-server.js'

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

test('a server that does not answer is left', () => {
  const [one] = two()
  mux.receive('one', '{"t":"c","d":{"t":"p","d":{}}}')
  vi.advanceTimersByTime(8_000)
  expect(one.ended).toBe(true)
})
