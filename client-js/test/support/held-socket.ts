// A WebSocket that keeps messages, both ways, until the test lets them through.
// So the test decides what each client knows at each moment, and two clients
// can be led through the same history.

import { WebSocket } from 'ws'

let fences = 1_000_000_000

/** The connection ended while the test waited for its server. */
export class Lost extends Error {}

export class HeldSocket {
  onopen: any = null
  onmessage: any = null
  onclose: any = null
  onerror: any = null
  readonly outgoing: string[] = []
  readonly incoming: string[] = []
  readyState = 0
  private readonly socket: WebSocket
  private readonly waiting = new Map<number, { text: string; done: () => void }>() // answers awaited
  private hello?: () => void
  private fail?: (error: Lost) => void
  private readonly lost: Promise<never>
  private readonly hail: Promise<void>

  constructor(readonly url: string) {
    this.socket = new WebSocket(url, { perMessageDeflate: false })
    this.hail = new Promise(resolve => {
      this.hello = resolve
    })
    this.lost = new Promise((_, reject) => {
      this.fail = reject
    })
    this.lost.catch(() => {}) // it may be that the test waits for nothing
    this.socket.onopen = () => {
      this.readyState = 1
    }
    this.socket.onclose = ({ code }) => this.end(`the server has closed the connection (code ${code})`)
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
    this.end('the client has closed the connection')
    this.socket.close()
  }

  private end(why: string): void {
    this.readyState = 3
    this.fail?.(new Lost(why))
  }

  /** Resolves when the server has sent its first message. Rejects with Lost if that cannot be. */
  get greeted(): Promise<void> {
    return Promise.race([this.hail, this.lost])
  }

  /** The requests that have no answer yet. */
  get unanswered(): string[] {
    return [...this.waiting.values()].map(({ text }) => text)
  }

  private arrive(text: string): void {
    const { t, d } = JSON.parse(text)
    if (t === 'c') {
      this.incoming.push(text)
      this.hello?.()
      return
    }
    if ('r' in d) {
      this.waiting.get(d.r)?.done()
      this.waiting.delete(d.r)
    }
    if (!('r' in d) || d.r < 1_000_000_000) this.incoming.push(text)
  }

  // exchange sends a request and waits for its answer.
  private exchange(r: number, text: string): Promise<void> {
    const answer = new Promise<void>(done => this.waiting.set(r, { text, done }))
    if (this.readyState === 1) this.socket.send(text)
    return Promise.race([answer, this.lost])
  }

  /**
   * Sends up to n of the requests that the client wanted to send, one after the
   * other: the server may answer a read before an earlier write.
   */
  async flush(n = Number.POSITIVE_INFINITY): Promise<void> {
    for (const text of this.outgoing.splice(0, n)) await this.exchange(JSON.parse(text).d.r, text)
  }

  /** A request that the client does not know of. */
  async request(action: string, body: object): Promise<void> {
    const r = ++fences
    await this.exchange(r, JSON.stringify({ t: 'd', d: { r, a: action, b: body } }))
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
