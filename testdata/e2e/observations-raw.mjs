// The realtime protocol without an SDK, for what an SDK hides: the status of a
// response, and control messages. For short messages only: it does not split.

import assert from 'node:assert/strict'
import WebSocket from 'ws'
import { Log, within } from './events.mjs'

/** Opens a socket on a stage, signed in as its user. It is closed after `t`. */
export async function openRaw(t, s) {
  const raw = new Raw(s.socketURL)
  t.after(() => raw.close())
  if (s.token) assert.equal((await raw.request('auth', { cred: s.token })).s, 'ok')
  return raw
}

class Raw {
  /** What the server sends, parsed: { t, d }. */
  messages = new Log()
  #socket
  #requests = 0

  constructor(url) {
    this.#socket = new WebSocket(url)
    this.#socket.on('message', data => this.messages.add(JSON.parse(data)))
    this.#socket.on('error', this.messages.fail)
    this.#socket.on('close', () => this.messages.fail(new Error('the socket was closed')))
  }

  /** The first control message of type `t`. */
  control(t) {
    return this.messages.find(m => m.t === 'c' && m.d.t === t, `control message ${t}`).then(m => m.d)
  }

  /** Sends a request; resolves with its response { s, d }. */
  async request(a, b) {
    await this.control('h')
    const r = ++this.#requests
    this.#socket.send(JSON.stringify({ t: 'd', d: { r, a, b } }))
    const response = await this.messages.find(m => m.t === 'd' && m.d.r === r, `response to ${a}`)
    return response.d.b
  }

  /** Resolves when the connection has ended, from whichever side. */
  close() {
    const socket = this.#socket
    if (socket.readyState === WebSocket.CLOSED) return
    const closed = new Promise(resolve => socket.once('close', resolve))
    socket.close()
    return within(closed, 'end of a raw socket')
  }
}
