// The other end of a connection, played by the test.

import { joiner } from '../../src/core/frames.js'

export class FakeSocket {
  static readonly all: FakeSocket[] = []
  onopen: any = null
  onmessage: any = null
  onclose: any = null
  onerror: any = null
  closed = false
  bufferedAmount = 0
  readonly sent: any[] = []

  constructor(readonly url: string) {
    FakeSocket.all.push(this)
  }

  private readonly join = joiner(text => this.sent.push(JSON.parse(text)))

  send(piece: string): void {
    this.join(piece)
  }

  close(): void {
    this.closed = true
  }

  receive(message: object): void {
    this.onmessage?.({ data: JSON.stringify(message) })
  }

  /** Greets the client, as the server does first. */
  greet(more: object = {}): void {
    this.receive({
      t: 'c',
      d: { t: 'h', d: { ts: Date.now(), v: '5', h: 'localhost', s: 'session', ...more } }
    })
  }

  /** The data requests of one kind. */
  requests(action: string): any[] {
    return this.sent.filter(({ t, d }) => t === 'd' && d.a === action).map(({ d }) => d)
  }

  answer(r: number, s = 'ok', d: unknown = '', more: object = {}): void {
    this.receive({ t: 'd', d: { r, b: { s, d, ...more } } })
  }

  push(a: string, b: object): void {
    this.receive({ t: 'd', d: { a, b } })
  }

  static get last(): FakeSocket {
    return FakeSocket.all.at(-1)!
  }
}
