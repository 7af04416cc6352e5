import { createServer } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { WebSocketServer } from 'ws'
import { NodeSocket } from '../../src/socket/node.js'

let server: WebSocketServer
let url: string

beforeAll(async () => {
  const http = createServer((_, response) => response.writeHead(404).end())
  server = new WebSocketServer({ server: http })
  server.on('connection', socket => {
    socket.on('message', data => {
      socket.ping('x')
      socket.send(String(data))
    })
  })
  await new Promise<void>(resolve => http.listen(0, '127.0.0.1', resolve))
  url = `127.0.0.1:${(http.address() as { port: number }).port}`
})
afterAll(() => server.close())

test('text of any length goes there and back', async () => {
  const socket = new NodeSocket(`ws://${url}/`)
  await new Promise(resolve => {
    socket.onopen = resolve
  })
  for (const text of [
    '',
    'a',
    'ü😀',
    'x'.repeat(125),
    'x'.repeat(126),
    'y'.repeat(65_535),
    'z'.repeat(70_000)
  ]) {
    const answer = new Promise(resolve => {
      socket.onmessage = (event: { data: string }) => resolve(event.data)
    })
    socket.send(text)
    expect(await answer).toBe(text)
  }
  socket.close()
})

test('the end is told once', async () => {
  const socket = new NodeSocket(`ws://${url}/`)
  await new Promise(resolve => {
    socket.onopen = resolve
  })
  let ends = 0
  const ended = new Promise<void>(resolve => {
    socket.onclose = () => {
      ends++
      resolve()
    }
  })
  for (const client of server.clients) client.terminate()
  await ended
  expect(ends).toBe(1)
})

test('a server that is not there ends the attempt', async () => {
  const socket = new NodeSocket('ws://127.0.0.1:1/')
  await new Promise<void>(resolve => {
    socket.onclose = () => resolve()
  })
})
