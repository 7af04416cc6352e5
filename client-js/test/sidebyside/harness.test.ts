// What the comparison itself must do.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { WebSocketServer } from 'ws'
import { HeldSocket } from '../support/held-socket.js'
import { freshNamespace, Server } from '../support/server.js'
import type { Step } from './history.js'
import { check, difference, libraries } from './run.js'
import { type Library, World } from './world.js'

const server = new Server(['--rules', join(import.meta.dirname, 'rules.json')])
let libs: Library[]

beforeAll(async () => {
  await server.start()
  libs = await libraries()
}, 120_000)

afterAll(() => server.stop())

// 546: a lost update; 5236 and 5245: a transaction whose value is not known.
test.each([546, 5236, 5245])('seed %d, which once differed, does not', async seed => {
  expect(await check(libs, server, seed)).toBeUndefined()
})

// The second transaction waits for the first. When the data arrives, it hides what the other
// client has written.
const hidden: Step[] = [
  { client: 1, op: 'set', path: 'd/a/b', value: 7 },
  { client: 1, op: 'flush', count: 1 },
  { client: 0, op: 'listen', id: 1, type: 'value', path: 'd', query: [], once: false },
  { client: 0, op: 'transaction', path: 'd/a/a', kind: 'add', local: true },
  { client: 0, op: 'transaction', path: 'd/a', kind: 'object', local: true },
  { client: 0, op: 'unlisten', id: 1 }
]

test('the official client loses an update that a waiting transaction hides, this one does not', async () => {
  const results = await Promise.all(
    libs.map(async library => {
      const ns = freshNamespace()
      const world = new World(library, server, ns)
      await world.start(2)
      for (const step of hidden) await world.step(step)
      await world.settle()
      await world.stop()
      return server.rest(ns, 'GET', '/d/a')
    })
  )
  expect(results).toEqual([
    { a: 1, c: 1 },
    { a: 1, b: 7, c: 1 }
  ])
  expect(await difference(libs, server, 2, hidden)).toBeUndefined()
})

test('a history that does not go on fails, and says what it waits for', async () => {
  const silent = createServer()
  new WebSocketServer({ server: silent })
  await new Promise<void>(resolve => silent.listen(0, '127.0.0.1', resolve))
  const { port } = silent.address() as AddressInfo
  const url = (ns: string) => `http://127.0.0.1:${port}?ns=${ns}`
  await expect(difference(libs, { url, rest: server.rest }, 1, [], 50)).rejects.toThrow(
    [
      'no end after 50 ms, at the start',
      '  official client waits for client 0: a connection',
      '  this client waits for client 0: a connection'
    ].join('\n')
  )
  silent.close()
})

test('a connection that the server closes ends a history', async () => {
  const other = await new Server().start()
  const ours = libs[1]!
  const set = (...args: unknown[]) => {
    void other.stop('SIGKILL')
    return ours.api.set(...args)
  }
  const steps: Step[] = [
    { client: 0, op: 'set', path: 'd/a', value: 1 },
    { client: 0, op: 'flush', count: 1 }
  ]
  const library: Library = { ...ours, api: { ...ours.api, set } }
  await expect(difference([library, library], other, 1, steps)).rejects.toThrow(
    /^the server has closed the connection \(code 1006\), at step 1 .*flush/
  )
})

// A busy machine may need longer for a connection than a client waits for it.
test('a client may give up an attempt to connect', async () => {
  const url = `ws://${server.host}/.ws?v=5&ns=${freshNamespace()}`
  const attempts: HeldSocket[] = []
  const attempt = () => {
    attempts.push(new HeldSocket(url))
    return attempts.at(-1)!
  }
  const goOnline = () => {
    attempt().close()
    setTimeout(attempt)
  }
  const library: Library = { api: { goOnline, goOffline() {} }, open: () => ({ db: {}, close() {} }) }
  const world = new World(library, server, new URL(url).searchParams.get('ns')!)
  await world.start(1)
  expect(attempts.map(({ readyState }) => readyState)).toEqual([3, 1])
  attempts[1]!.close()
  await world.stop()
})
