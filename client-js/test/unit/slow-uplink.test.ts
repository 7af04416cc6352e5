// A server that cannot answer before a long write has arrived.

import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { connectionState, type Database, goOnline, ref, set } from '../../src/index.js'
import { FakeSocket } from '../support/fake-server.js'
import { closePlayed, openPlayed } from '../support/played.js'

let db: Database
let socket: FakeSocket

beforeEach(async () => {
  db = openPlayed()
  goOnline(db)
  await tick()
  socket = FakeSocket.last
  socket.greet()
})
afterEach(() => closePlayed(db))

const tick = (ms = 0) => vi.advanceTimersByTimeAsync(ms)

/** How often the server was asked, and the state. */
const state = () => [socket.sent.filter(({ t }) => t === 'c').length, connectionState(db)]

/** From now on what is sent waits in the socket. */
function fill(): void {
  const { send } = socket
  socket.send = piece => {
    socket.bufferedAmount += piece.length
    send.call(socket, piece)
  }
}

test('it is not left while that is sent on', async () => {
  socket.bufferedAmount = 9_000
  await tick(30_000)
  expect(state()).toEqual([1, 'connected'])
  socket.bufferedAmount = 8_000
  await tick(40_000)
  expect(state()).toEqual([2, 'connected'])
  socket.bufferedAmount = 0
  await tick(40_000)
  expect(state()).toEqual([3, 'connected'])
  await tick(10_000)
  expect(state()).toEqual([3, 'waiting'])
})

test('it is left when that does not go on', async () => {
  socket.bufferedAmount = 9_000
  await tick(40_000)
  expect(state()).toEqual([1, 'waiting'])
})

test.each([
  [1, 'connected'],
  [0, 'waiting']
])('what is written meanwhile does not matter: %d bytes were sent on', async (sent, end) => {
  fill()
  socket.bufferedAmount = 9_000
  await tick(30_000)
  void set(ref(db, 'a'), 'x'.repeat(9_000)).catch(() => {})
  expect(socket.bufferedAmount).toBeGreaterThan(18_000)
  socket.bufferedAmount -= sent
  await tick(10_000)
  expect(state()).toEqual([1, end])
})

// The machine takes short messages also when the network is gone.
test('it is left if only what was written meanwhile has gone', async () => {
  fill()
  await tick(30_000)
  void set(ref(db, 'a'), 1).catch(() => {})
  socket.bufferedAmount = 0
  await tick(10_000)
  expect(state()).toEqual([1, 'waiting'])
})
