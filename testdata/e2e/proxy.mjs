// A TCP proxy that reads along, and that can cut, silence, refuse and slow
// down connections.

import net from 'node:net'
import { Log } from './events.mjs'

export class Proxy {
  /** Every HTTP request: { conn, method, url, headers }. */
  requests = new Log()
  /** Every WebSocket text message as sent: { conn, from, text }. */
  frames = new Log()
  /** Every protocol message, reassembled and parsed: { conn, from, type, body }. */
  messages = new Log()

  #target // has a port; asked for each connection, a restart may change it
  #server = net.createServer(socket => this.#accept(socket))
  #pairs = new Set()
  #refusing = false
  #held = null // deliveries that wait for release()
  #delay = 0
  #count = 0

  constructor(target) {
    this.#target = target
  }

  async listen() {
    await new Promise(resolve => this.#server.listen(0, '127.0.0.1', resolve))
    this.port = this.#server.address().port
    return this
  }

  get url() {
    return `http://127.0.0.1:${this.port}`
  }

  /** Breaks all connections with a reset, in both directions. */
  cut() {
    for (const pair of [...this.#pairs]) pair.reset()
  }

  /**
   * From now on nothing passes on the present connections, not even their end:
   * each side believes that the other is merely silent. New connections work.
   */
  silence() {
    for (const pair of this.#pairs) pair.silent = true
  }

  /** Resets new connections until accept(). */
  refuse() {
    this.#refusing = true
  }

  accept() {
    this.#refusing = false
  }

  /** Keeps everything, both ways, until release(). */
  hold() {
    this.#held = []
  }

  release() {
    const held = this.#held
    this.#held = null
    for (const deliver of held) deliver()
  }

  /** Delivers everything, both ways, this much later. */
  delay(ms) {
    this.#delay = ms
  }

  async close() {
    this.refuse()
    this.cut()
    await new Promise(resolve => this.#server.close(resolve))
  }

  #accept(client) {
    if (this.#refusing) return reset(client)
    const conn = ++this.#count
    const server = net.connect(this.#target.port, '127.0.0.1')
    const pair = {
      silent: false,
      reset: () => {
        this.#pairs.delete(pair)
        reset(client)
        reset(server)
      }
    }
    this.#pairs.add(pair)
    const reader = new Reader(conn, this)
    this.#pipe(pair, client, server, chunk => reader.fromClient(chunk))
    this.#pipe(pair, server, client, chunk => reader.fromServer(chunk))
  }

  // pipe forwards `a` to `b`. `read` sees each chunk as it passes, and returns
  // what to forward.
  #pipe(pair, a, b, read) {
    const later = deliver => {
      if (this.#held) this.#held.push(deliver)
      else if (this.#delay) setTimeout(deliver, this.#delay)
      else deliver()
    }
    a.setNoDelay(true)
    a.on('data', chunk => {
      if (pair.silent) return
      const passed = read(chunk)
      later(() => pair.silent || b.destroyed || b.write(passed))
    })
    a.on('end', () => later(() => pair.silent || b.end()))
    a.on('error', () => pair.silent || pair.reset())
    a.on('close', () => pair.silent || this.#pairs.delete(pair))
  }
}

// reset breaks a connection. One that is being ended cannot be reset: Node 20
// then keeps its handle for ever and spins when the process exits.
function reset(socket) {
  if (socket.connecting || socket.writableEnded) socket.destroy()
  else socket.resetAndDestroy()
}

// Reader follows one connection: HTTP requests, of which one may turn it into
// a WebSocket.
class Reader {
  #conn
  #proxy
  #head = Buffer.alloc(0) // bytes of an unfinished request head
  #answer = Buffer.alloc(0) // the same for the answer to an upgrade
  #up = null // WebSocket frames; null as long as this is HTTP
  #down = null

  constructor(conn, proxy) {
    this.#conn = conn
    this.#proxy = proxy
  }

  fromClient(chunk) {
    if (this.#up) {
      this.#up.read(chunk)
      return chunk
    }
    const out = []
    let rest = Buffer.concat([this.#head, chunk])
    for (let end; !this.#up && (end = rest.indexOf('\r\n\r\n')) >= 0; rest = rest.subarray(end + 4)) {
      out.push(this.#request(rest.subarray(0, end + 4).toString('latin1')))
    }
    if (this.#up) {
      this.#up.read(rest)
      return Buffer.concat([...out, rest])
    }
    this.#head = rest
    return Buffer.concat(out)
  }

  fromServer(chunk) {
    if (this.#down) {
      this.#down.read(chunk)
    } else if (this.#up) {
      this.#answer = Buffer.concat([this.#answer, chunk])
      const end = this.#answer.indexOf('\r\n\r\n')
      if (end >= 0) {
        this.#down = this.#socket('server')
        this.#down.read(this.#answer.subarray(end + 4))
      }
    }
    return chunk
  }

  // request notes one request (all those of interest have no body) and returns
  // the head to forward: without an offer to compress, for we want to read.
  #request(head) {
    const [first, ...lines] = head.trimEnd().split('\r\n')
    const [method, url] = first.split(' ')
    const headers = Object.fromEntries(lines.map(line => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
    }))
    if (headers.upgrade?.toLowerCase() === 'websocket') this.#up = this.#socket('client')
    this.#proxy.requests.add({ conn: this.#conn, method, url: new URL(url, 'http://proxy'), headers })
    return Buffer.from(head.replace(/\r\nSec-WebSocket-Extensions:[^\r]*/i, ''), 'latin1')
  }

  #socket(from) {
    const conn = this.#conn
    const whole = joiner(text => {
      const { t: type, d: body } = JSON.parse(text)
      this.#proxy.messages.add({ conn, from, type, body })
    })
    return new Frames(text => {
      this.#proxy.frames.add({ conn, from, text })
      whole(text)
    })
  }
}

// Frames cuts a byte stream into WebSocket text messages.
class Frames {
  #deliver
  #bytes = Buffer.alloc(0)
  #parts = [] // of a message in several frames

  constructor(deliver) {
    this.#deliver = deliver
  }

  read(chunk) {
    this.#bytes = Buffer.concat([this.#bytes, chunk])
    for (;;) {
      const frame = parseFrame(this.#bytes)
      if (!frame) return
      this.#bytes = this.#bytes.subarray(frame.size)
      if (frame.opcode > 2) continue // close, ping, pong
      this.#parts.push(frame.payload)
      if (!frame.final) continue
      const text = Buffer.concat(this.#parts).toString('utf8')
      this.#parts = []
      this.#deliver(text)
    }
  }
}

// parseFrame returns the first frame of `bytes`, or null when it is incomplete.
function parseFrame(bytes) {
  if (bytes.length < 2) return null
  const masked = (bytes[1] & 0x80) !== 0
  let length = bytes[1] & 0x7f
  let at = 2
  if (length === 126) {
    if (bytes.length < 4) return null
    length = bytes.readUInt16BE(2)
    at = 4
  } else if (length === 127) {
    if (bytes.length < 10) return null
    length = Number(bytes.readBigUInt64BE(2))
    at = 10
  }
  const mask = masked ? bytes.subarray(at, (at += 4)) : null
  if (bytes.length < at + length) return null
  const payload = Buffer.from(bytes.subarray(at, at + length))
  if (mask) for (let i = 0; i < length; i++) payload[i] ^= mask[i & 3]
  return { final: (bytes[0] & 0x80) !== 0, opcode: bytes[0] & 0x0f, payload, size: at + length }
}

// joiner puts split messages together again: a count, then that many pieces.
// A lone "0" is the client's keep-alive.
function joiner(deliver) {
  let missing = 0
  let pieces = []
  return text => {
    if (missing > 0) {
      pieces.push(text)
      if (--missing > 0) return
      text = pieces.join('')
      pieces = []
    } else if (/^\d{1,6}$/.test(text)) {
      missing = Number(text)
      return
    }
    deliver(text)
  }
}
