// How tabs take turns at the connection that they share, at a server played by the test.

import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { Tabs } from '../../src/persistence/tabs.js'
import { eventually } from '../support/eventually.js'
import { FakeSocket } from '../support/fake-server.js'
import { Browser } from '../support/locks.js'

const ADDRESS = 'ws://localhost/.ws?v=5&ns=demo'

/** The locks that tabs have asked for. */
let asked: string[]

/** A tab of a browser, which opens sockets as a connection does. */
interface Tab {
  tabs: Tabs
  locks: { request: any; kill: () => void }
  /** Hears nothing any more, like a page at a breakpoint. Returns what has it go on. */
  hang(): () => void
  /** Opens a socket, which names a session. `alive` counts signs of life. */
  open(session?: string): { got: any[]; alive: number; ended: boolean; send(piece: string): void }
}

let browser: Browser
let name = ''
const all: Tab[] = []

function tab(id: string): Tab {
  const { request, kill } = browser.tab()
  const locks = {
    kill,
    request(lock: string, ...rest: any[]) {
      asked.push(lock)
      return request(lock, ...rest)
    }
  }
  const channel = new BroadcastChannel(name)
  const tabs = new Tabs(name, id, FakeSocket, ADDRESS, { locks, channel })
  const Socket = tabs.socketClass()
  const made: Tab = {
    tabs,
    locks,
    hang() {
      const { onmessage } = channel
      const missed: any[] = []
      channel.onmessage = event => missed.push(event)
      return () => {
        channel.onmessage = onmessage
        for (const event of missed) onmessage!.call(channel, event)
      }
    },
    open(session) {
      const socket = new Socket(ADDRESS + (session ? `&ls=${session}` : ''))
      const state = { got: [] as any[], alive: 0, ended: false, send: (piece: string) => socket.send(piece) }
      socket.onmessage = ({ data }: { data: string }) => {
        const { d } = JSON.parse(data)
        if (d.t === 'o') state.alive++
        else state.got.push(d)
      }
      socket.onclose = () => {
        state.ended = true
      }
      return state
    }
  }
  all.push(made)
  return made
}

beforeEach(() => {
  browser = new Browser()
  name = `tabs ${Math.random()}`
  FakeSocket.all.length = 0
  asked = []
})
afterEach(() => {
  for (const { tabs } of all.splice(0)) tabs.stop()
})

/** A leader with a connection, and a tab that uses it. */
async function two(): Promise<[Tab, Tab]> {
  const leader = tab('one')
  await Promise.resolve()
  const first = leader.open()
  await eventually(() => expect(FakeSocket.all).toHaveLength(1))
  FakeSocket.last.greet({ s: 's1' })
  const follower = tab('other')
  const socket = follower.open()
  await eventually(() => expect(socket.got).toHaveLength(1))
  expect(first.got).toHaveLength(1)
  return [leader, follower]
}

test('a tab that takes over names each session that has ended once', async () => {
  const [leader, follower] = await two()
  leader.locks.kill()
  leader.tabs.stop()
  const socket = follower.open('s1')
  await eventually(() => expect(FakeSocket.all).toHaveLength(2))
  expect(FakeSocket.last.url).toBe(`${ADDRESS}&ls=s1`)
  FakeSocket.last.greet({ s: 's2' })
  await eventually(() => expect(socket.got).toHaveLength(1))
  FakeSocket.last.onclose()
  expect(socket.ended).toBe(true)
  follower.open('s2')
  await eventually(() => expect(FakeSocket.all).toHaveLength(3))
  expect(FakeSocket.last.url).toBe(`${ADDRESS}&ls=s2`)
})

test('a tab is watched once, and all that it had ends with it', async () => {
  const [, other] = await two()
  for (let n = 1; n <= 3; n++) {
    const socket = other.open()
    await eventually(() => expect(socket.got).toHaveLength(1))
    const plan = { t: 'd', d: { r: 1, a: 'o', b: { p: `/gone/${n}`, d: true } } }
    socket.send(JSON.stringify(plan))
    await eventually(() => expect(FakeSocket.last.requests('o')).toHaveLength(n))
  }
  expect(asked.filter(lock => lock === `${name} other`)).toHaveLength(2) // its own, and to watch it
  other.locks.kill()
  await eventually(() => expect(FakeSocket.last.requests('p')).toHaveLength(3))
  expect(FakeSocket.all).toHaveLength(1)
})

test('a tab whose leader hangs has a connection of its own, and keeps it', async () => {
  const [leader, follower] = await two()
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const shared = FakeSocket.last
  const watcher = new BroadcastChannel(name)
  onTestFinished(() => watcher.close())
  const told: string[] = []
  watcher.onmessage = ({ data }: any) => told.push(data.kind)
  const goOn = leader.hang()
  const socket = follower.open('s1')
  await vi.advanceTimersByTimeAsync(4_999)
  expect(FakeSocket.all).toHaveLength(1)
  await vi.advanceTimersByTimeAsync(1)
  expect(FakeSocket.all.map(({ url }) => url)).toEqual([ADDRESS, ADDRESS]) // ends no session
  const own = FakeSocket.last
  own.greet({ s: 's2' })
  expect(socket.got).toMatchObject([{ t: 'h', d: { s: 's2' } }])
  socket.send('{"t":"d","d":{"r":1,"a":"p","b":{"p":"/a","d":1}}}')
  expect(own.requests('p')).toHaveLength(1)
  vi.useRealTimers()

  const heard = leader.open()
  await eventually(() => expect(heard.got).toHaveLength(1))
  goOn()
  const next = follower.open() // is told after all that the leader has missed
  await eventually(() => expect(next.got).toHaveLength(1))
  await eventually(() => expect(told.filter(kind => kind !== 'down')).toEqual(['open', 'close', 'open']))
  expect([socket.ended, socket.got.length, shared.closed, FakeSocket.all.length]).toEqual([
    false,
    1,
    false,
    2
  ])
  own.onclose()
  expect(socket.ended).toBe(true)
})

test('a tab waits with its leader for a server that is slow to greet', async () => {
  const leader = tab('one')
  await Promise.resolve()
  leader.open()
  await eventually(() => expect(FakeSocket.all).toHaveLength(1))
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const socket = tab('other').open()
  await vi.waitFor(() => expect(socket.alive).toBe(1), { timeout: 60_000, interval: 1 })
  await vi.advanceTimersByTimeAsync(10_000)
  expect(FakeSocket.all).toHaveLength(1)
  FakeSocket.last.greet()
  vi.useRealTimers()
  await eventually(() => expect(socket.got).toHaveLength(1))
})
