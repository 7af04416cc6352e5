import { createHash, randomBytes } from 'node:crypto'
import { type IncomingMessage, request as plain } from 'node:http'
import { request as secure } from 'node:https'
import type { Duplex } from 'node:stream'
import type { SocketClass } from '../core/socket.js'

/** The WebSocket of the runtime; Node 20 has none. */
export const defaultSocket = (): SocketClass => globalThis.WebSocket ?? NodeSocket

const MAX_MESSAGE = 256 << 20
const GRACE = 1000 // milliseconds for the server to close, too
const TEXT = 1
const CLOSE = 8
const PING = 9
const PONG = 10

/** What the client needs of a WebSocket, over Node's HTTP client. */
export class NodeSocket {
  onopen: any = null
  onmessage: any = null
  onclose: any = null
  onerror: any = null
  private socket?: Duplex
  private closed = false
  private bytes: Buffer = Buffer.alloc(0)
  private parts: Buffer[] = [] // of a message in several frames
  private size = 0
  private readonly queue = new Set<Buffer>() // frames that the socket has no room for
  private queued = 0 // their bytes
  private readonly upgrade

  constructor(url: string) {
    const key = randomBytes(16).toString('base64')
    const headers = {
      Connection: 'Upgrade',
      Upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': key
    }
    const request = url.startsWith('wss:') ? secure : plain
    this.upgrade = request(url.replace(/^ws/, 'http'), { headers })
    this.upgrade.on('upgrade', (response, socket, head) => this.start(key, response, socket, head))
    this.upgrade.on('response', () => this.fail())
    this.upgrade.on('error', () => this.fail())
    this.upgrade.end()
  }

  get bufferedAmount(): number {
    return this.queued + (this.socket?.writableLength ?? 0)
  }

  send(text: string): void {
    this.write(TEXT, Buffer.from(text))
  }

  close(): void {
    this.write(CLOSE, Buffer.from([3, 232])) // 1000, normal
    this.end()
  }

  private start(key: string, response: IncomingMessage, socket: Duplex, head: Buffer): void {
    const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
    if (this.closed || response.headers['sec-websocket-accept'] !== accept) {
      socket.destroy()
      return this.fail()
    }
    this.socket = socket
    socket.on('data', (chunk: Buffer) => this.read(chunk))
    socket.on('drain', () => this.flush())
    socket.on('close', () => this.fail())
    socket.on('error', () => this.fail())
    this.onopen?.({})
    this.read(head)
  }

  // fail reports the end of the connection, once.
  private fail(): void {
    if (this.closed) return
    this.end()
    this.onclose?.({})
  }

  private end(): void {
    this.closed = true
    const { socket } = this
    if (!socket) return void this.upgrade.destroy()
    for (const frame of this.queue) socket.write(frame)
    this.queue.clear()
    socket.end()
    // A server that goes on sending must not keep the program from ending.
    socket.removeAllListeners('data').resume()
    setTimeout(() => socket.destroy(), GRACE).unref()
  }

  private read(chunk: Buffer): void {
    this.bytes = this.bytes.length ? Buffer.concat([this.bytes, chunk]) : chunk
    for (;;) {
      const frame = parseFrame(this.bytes)
      if (!frame || this.closed) return
      if (frame.size + this.size > MAX_MESSAGE) return this.fail()
      if (this.bytes.length < frame.size) return
      const payload = this.bytes.subarray(frame.start, frame.size)
      this.bytes = this.bytes.subarray(frame.size)
      this.receive(frame.opcode, frame.final, payload)
    }
  }

  private receive(opcode: number, final: boolean, payload: Buffer): void {
    if (opcode === PING) return this.write(PONG, payload)
    if (opcode === CLOSE) return this.fail()
    if (opcode > CLOSE) return
    this.parts.push(payload)
    this.size += payload.length
    if (!final) return
    const data = Buffer.concat(this.parts).toString()
    this.parts = []
    this.size = 0
    this.onmessage?.({ data })
  }

  // write sends one frame, masked as clients must.
  private write(opcode: number, payload: Buffer): void {
    if (this.closed || !this.socket) return
    const { length } = payload
    const extra = length < 126 ? 0 : length < 65_536 ? 2 : 8
    const head = Buffer.alloc(2 + extra)
    head[0] = 0x80 | opcode
    head[1] = 0x80 | (extra === 0 ? length : extra === 2 ? 126 : 127)
    if (extra === 2) head.writeUInt16BE(length, 2)
    if (extra === 8) head.writeBigUInt64BE(BigInt(length), 2)
    const mask = randomBytes(4)
    const masked = Buffer.from(payload)
    for (let i = 0; i < length; i++) masked[i]! ^= mask[i & 3]!
    const frame = Buffer.concat([head, mask, masked])
    this.queue.add(frame)
    this.queued += frame.length
    this.flush()
  }

  // flush gives the socket what it has room for. Given all at once, it would not tell how it gets on.
  private flush(): void {
    for (const frame of this.queue) {
      if (this.socket!.writableNeedDrain) return
      this.queue.delete(frame)
      this.queued -= frame.length
      this.socket!.write(frame)
    }
  }
}

// parseFrame reads the head of the first frame; null if even that is incomplete.
function parseFrame(bytes: Buffer): { opcode: number; final: boolean; start: number; size: number } | null {
  if (bytes.length < 2) return null
  const short = bytes[1]! & 0x7f
  const start = short < 126 ? 2 : short === 126 ? 4 : 10
  if (bytes.length < start) return null
  const length =
    short < 126 ? short : short === 126 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2))
  return { opcode: bytes[0]! & 15, final: bytes[0]! > 127, start, size: start + length }
}
