import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import { createServer as createNetServer } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type WebSocket, WebSocketServer } from 'ws'
import { NodeSocket } from '../../src/socket/node.js'

let server: WebSocketServer
let url: string
let slow: WebSocket | undefined // reads as much as the test lets it

beforeAll(async () => {
  const http = createServer((_, response) => response.writeHead(404).end())
  server = new WebSocketServer({ server: http })
  server.on('connection', (socket, { url }) => {
    if (url === '/slow') {
      slow = socket
      return
    }
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

test('a server that goes on sending is left', async () => {
  const raw = createNetServer(peer => {
    peer.on('error', () => {})
    peer.once('data', data => {
      const key = /sec-websocket-key: (.*)\r/i.exec(String(data))![1]!
      const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
      peer.write(
        `HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`
      )
      const send = () => peer.writable && peer.write(Buffer.alloc(1000, 0x81), () => setTimeout(send))
      send()
    })
  })
  await new Promise<void>(resolve => raw.listen(0, '127.0.0.1', resolve))
  const left = new Promise<void>(resolve => raw.on('connection', peer => peer.on('close', () => resolve())))
  const socket = new NodeSocket(`ws://127.0.0.1:${(raw.address() as { port: number }).port}/`)
  await new Promise(resolve => {
    socket.onopen = resolve
  })
  socket.close()
  await left
  raw.close()
})

test('a server that is not there ends the attempt', async () => {
  const socket = new NodeSocket('ws://127.0.0.1:1/')
  await new Promise<void>(resolve => {
    socket.onclose = () => resolve()
  })
})

test('how much waits is told while it is sent on', async () => {
  const socket = new NodeSocket(`ws://${url}/slow`)
  await new Promise(resolve => {
    socket.onopen = resolve
  })
  await expect.poll(() => slow).toBeDefined()
  slow!.pause()
  const piece = 'x'.repeat(16_384)
  const count = 2_000 // more than twice of what the machine takes for a server that does not read
  for (let i = 0; i < count; i++) socket.send(piece)
  let before = 0
  await expect.poll(() => before - (before = socket.bufferedAmount), { interval: 200 }).toBe(0)
  let taken = 0
  let most = count / 2
  slow!.on('message', () => {
    if (++taken >= most) slow!.pause()
  })
  slow!.resume()
  await expect.poll(() => socket.bufferedAmount).toBeLessThan(before - 8e6)
  expect(socket.bufferedAmount).toBeGreaterThan(0)
  most = Number.POSITIVE_INFINITY
  slow!.resume()
  await expect.poll(() => taken).toBe(count)
  expect(socket.bufferedAmount).toBe(0)
  for (let i = 0; i < 10; i++) socket.send(piece)
  socket.close() // what was given to it arrives all the same
  await expect.poll(() => taken).toBe(count + 10)
})
