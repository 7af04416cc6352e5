// A WebSocket that keeps messages, both ways, until the test lets them through.
// So the test decides what each client knows at each moment, and two clients
// can be led through the same history.

import { WebSocket } from 'ws'

let fences = 1_000_000_000

export class HeldSocket {
  onopen: any = null
  onmessage: any = null
  onclose: any = null
  onerror: any = null
  readonly outgoing: string[] = []
  readonly incoming: string[] = []
  readonly opened: Promise<void>
  readyState = 0
  private readonly socket: WebSocket
  private readonly waiting = new Map<number, () => void>() // answers awaited
  private hello?: () => void
  readonly greeted: Promise<void>

  constructor(readonly url: string) {
    this.socket = new WebSocket(url, { perMessageDeflate: false })
    this.greeted = new Promise(resolve => {
      this.hello = resolve
    })
    this.opened = new Promise(resolve => {
      this.socket.onopen = () => {
        this.readyState = 1
        resolve()
      }
    })
    this.socket.onerror = () => {}
    this.socket.onmessage = event => this.arrive(String(event.data))
    const ns = new URL(url).searchParams.get('ns')!
    HeldSocket.awaited.get(ns)?.(this)
  }

  /** Called with the next socket of a namespace. */
  static readonly awaited = new Map<string, (socket: HeldSocket) => void>()

  send(text: string): void {
    // Statistics, which only the official client sends, and keep-alives.
    if (text === '0' || text.includes('"a":"s"')) return
    if (text.includes('"t":"c"')) {
      // A keep-alive question. It comes by the clock of the machine.
      queueMicrotask(() => this.onmessage?.({ data: '{"t":"c","d":{"t":"o","d":null}}' }))
      return
    }
    this.outgoing.push(text)
  }

  close(): void {
    this.readyState = 3
    this.socket.close()
  }

  private arrive(text: string): void {
    const { t, d } = JSON.parse(text)
    if (t === 'c') {
      this.incoming.push(text)
      this.hello?.()
      return
    }
    const done = 'r' in d && this.waiting.get(d.r)
    if (done) {
      this.waiting.delete(d.r)
      done()
    }
    if (!('r' in d) || d.r < 1_000_000_000) this.incoming.push(text)
  }

  private answer(r: number): Promise<void> {
    return new Promise(resolve => this.waiting.set(r, resolve))
  }

  /**
   * Sends up to n of the requests that the client wanted to send, one after the
   * other: the server may answer a read before an earlier write.
   */
  async flush(n = Number.POSITIVE_INFINITY): Promise<void> {
    for (const text of this.outgoing.splice(0, n)) {
      const answer = this.answer(JSON.parse(text).d.r)
      this.socket.send(text)
      await answer
    }
  }

  /** A request that the client does not know of. */
  async request(action: string, body: object): Promise<void> {
    const r = ++fences
    const answer = this.answer(r)
    this.socket.send(JSON.stringify({ t: 'd', d: { r, a: action, b: body } }))
    await answer
  }

  /** Lets up to n messages through to the client. */
  deliver(n = Number.POSITIVE_INFINITY): void {
    for (let i = 0; i < n && this.incoming.length && this.readyState === 1; i++) {
      this.onmessage?.({ data: this.incoming.shift() })
    }
  }

  /** Opens the connection for the client. */
  open(): void {
    this.onopen?.({})
  }

  /** Resolves when everything that the server has for this client so far is here. */
  async fence(): Promise<void> {
    await this.request('s', { c: {} })
  }
}
