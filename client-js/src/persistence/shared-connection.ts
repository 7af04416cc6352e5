import { clock, clockOffset } from '../core/clock.js'
import { joiner, transmit } from '../core/frames.js'
import { queryId } from '../core/params.js'
import { formatPath, parsePath } from '../core/path.js'
import type { SocketClass, SocketLike } from '../core/socket.js'
import { Plans } from './plans.js'
import { signsIn } from './user.js'

const HANDSHAKE = 15_000
const GRACE = 8_000 // for the server to answer a ping
const SIGN = 1000 // between two signs of life

/** A sign of life, as the server answers a ping. */
export const ALIVE = '{"t":"c","d":{"t":"o"}}'

/** The client of one tab. */
export interface TabClient {
  /** Delivers a message to the tab. */
  readonly deliver: (text: string) => void
  /** Ends the tab's own socket. */
  readonly end: () => void
  /** The connection that carries it. */
  connection: SharedConnection
  /** The tab has received the handshake of the server. */
  welcomed: boolean
  /** Its user is known, from its first request. */
  identified: boolean
  /** Its requests while the server checks its credential. */
  held?: Request[]
}

/** A request of the protocol. Type literals keep the names of the protocol. */
export type Request = { r: number; a: string; b: any }

/** A request that was sent to the server, and the client that it belongs to. */
interface Sent {
  readonly client: TabClient
  readonly r: number
  readonly signIn: boolean
  /** Of a listen: its tag on this connection. */
  readonly listen?: number
}

/** A listen of a client, which may have given it a tag. */
interface Listen {
  readonly client: TabClient
  readonly path: string
  readonly query: string
  readonly tag?: number
}

/**
 * A SharedConnection is one connection to the server, shared by tabs of the same user. It
 * renumbers requests and gives each listen a tag of its own, so that every answer and
 * every push reaches the right tab. When the connection ends, it ends for all tabs; each
 * of them reconnects and repeats what it needs.
 */
export class SharedConnection {
  private readonly clients = new Set<TabClient>()
  /** The user it is signed in as; undefined before the first request. */
  user?: string
  /** The handshake of the server, with the current time. */
  handshake?: () => string
  private socket?: SocketLike
  private backlog: string[] = [] // messages to send after the handshake
  private requests = 0
  private tags = 0
  private readonly sent = new Map<number, Sent>()
  private readonly listens = new Map<number, Listen>() // by the tag of this connection
  private readonly plans = new Plans<TabClient>()
  private readonly openedAt = Date.now()
  private timer?: ReturnType<typeof setTimeout> // until the server has to have said something
  private unsent?: number // what the socket had to send when the server was asked
  private toldAt = -SIGN // when the clients had the last sign of life

  constructor(
    Socket: SocketClass,
    url: string,
    /** The session of an earlier connection, until the server has named a new one. */
    private session: string | undefined,
    /** Called when the connection has ended. */
    private readonly onEnd: (session?: string) => void
  ) {
    const socket = new Socket(url + (session ? `&ls=${session}` : ''))
    let whole = true
    const receive = joiner(text => {
      whole = true
      this.receive(text)
    })
    socket.onmessage = (event: { data: unknown }) => {
      this.forgive()
      whole = false
      try {
        receive(String(event.data))
        if (!whole) this.sign()
      } catch {
        this.stop() // not a message of a server
      }
    }
    socket.onclose = socket.onerror = () => this.stop()
    this.socket = socket
    this.timer = setTimeout(() => this.stop(), HANDSHAKE)
  }

  /** Adds a client, a new one or one of another connection. */
  add(client: TabClient): void {
    this.clients.add(client)
    if (this.handshake) this.welcome(client)
  }

  /** Removes a client and carries out its onDisconnect operations. */
  remove(client: TabClient): void {
    this.clients.delete(client)
    for (const [tag, listen] of this.listens) {
      if (listen.client !== client) continue
      this.listens.delete(tag)
      this.request('n', { p: listen.path, t: tag })
    }
    if (this.clients.size) this.carryOut(client)
    else this.disconnect()
  }

  /** Ends the connection for all its clients. */
  stop(): void {
    this.disconnect()
    const clients = [...this.clients]
    this.clients.clear()
    for (const client of clients) client.end()
  }

  /** Reports whether no other client uses the connection, and no request of this one is held. */
  isAlone(client: TabClient): boolean {
    return this.clients.size === 1 && !client.held
  }

  /**
   * Sends a request of a client whose user is that of the connection. Requests that follow a
   * credential wait until the server has accepted it: other clients have signed this
   * connection in, and a client with an expired or forged credential must not profit from that.
   */
  send(client: TabClient, request: Request): void {
    if (client.held) {
      client.held.push(request)
      return
    }
    const { r, a, b } = request
    const signIn = signsIn(a)
    if (signIn && !this.isAlone(client)) client.held = []
    const listens = a === 'q' || a === 'nt'
    if (listens) b.t = this.tagFor(client, b)
    else if (a === 'n') b.t = this.untag(client, b)
    else if (a[0] === 'o') this.plans.note(client, a, b)
    this.sent.set(this.request(a, b), { client, r, signIn, listen: listens ? b.t : undefined })
    if (a === 'oc') this.plan(client, [b.p])
  }

  /** Asks the server for a sign of life, with the ping of a client. */
  probe(text: string): void {
    if (!this.handshake) return
    if (!this.timer) {
      this.unsent = this.socket!.bufferedAmount
      this.timer = setTimeout(() => this.judge(), GRACE)
    }
    this.write(text)
  }

  // judge ends a connection whose server is silent. But the answer waits behind a long write.
  private judge(): void {
    if (!(this.socket!.bufferedAmount! < this.unsent!)) return this.stop()
    this.forgive()
    this.toAll(ALIVE)
  }

  private forgive(): void {
    clearTimeout(this.timer)
    this.timer = undefined
    this.unsent = 0
  }

  // sign tells the clients that the server is there, while they wait for the rest of a long message.
  private sign(): void {
    if (!this.handshake || clock() < this.toldAt + SIGN) return
    this.toldAt = clock()
    this.toAll(ALIVE)
  }

  // ---- to the server

  private disconnect(): void {
    const { socket } = this
    this.forgive()
    if (!socket) return
    this.socket = undefined
    this.handshake = undefined
    this.sent.clear()
    this.listens.clear()
    socket.onmessage = socket.onclose = null
    socket.onerror = () => {}
    socket.close()
    this.onEnd(this.session)
  }

  private write(text: string): void {
    if (!this.handshake) this.backlog.push(text)
    else if (this.socket) {
      const more = transmit(this.socket, text)
      if (this.unsent) this.unsent += more
    }
  }

  private request(action: string, body: object): number {
    const r = ++this.requests
    this.write(JSON.stringify({ t: 'd', d: { r, a: action, b: body } }))
    return r
  }

  // ---- to the clients

  private receive(text: string): void {
    const message = JSON.parse(text)
    const { d } = message
    if (message.t === 'c') {
      if (d.t === 'h') this.greeted(message)
      else this.toAll(text)
    } else if ('r' in d) this.answered(d)
    else if (d.b.t !== undefined) {
      const listen = this.listens.get(d.b.t)
      listen?.client.deliver(JSON.stringify({ t: 'd', d: { a: d.a, b: { ...d.b, t: listen.tag } } }))
    } else {
      if (d.a === 'c') this.cancelled(d.b)
      this.toAll(text)
      if (d.a === 'ac') this.stop() // the connection is signed out now
    }
  }

  private answered({ r, b }: { r: number; b: { s: string } }): void {
    const sent = this.sent.get(r)
    this.sent.delete(r)
    if (!sent) return
    const { client, listen } = sent
    if (listen && b.s !== 'ok') this.listens.delete(listen)
    client.deliver(JSON.stringify({ t: 'd', d: { r: sent.r, b } }))
    if (sent.signIn && client.held) this.release(client, b.s === 'ok')
  }

  private release(client: TabClient, accepted: boolean): void {
    const held = client.held ?? []
    client.held = undefined
    if (!this.clients.has(client)) return
    if (accepted) for (const request of held) this.send(client, request)
    else {
      this.remove(client)
      client.end()
    }
  }

  // greeted keeps the handshake, which has the time, for tabs that come later. It removes
  // the feature of conditional onDisconnect operations: carryOut has no conditions. And that of
  // positions, which are those of all that the connection is sent.
  private greeted(message: { d: { d: { ts: number; s: string; f?: string[] } } }): void {
    message.d.d.f = message.d.d.f?.filter(feature => !/[cp]/.test(feature))
    const offset = clockOffset(message.d.d.ts, this.openedAt)
    this.session = message.d.d.s
    this.handshake = () => {
      message.d.d.ts = Date.now() + offset
      return JSON.stringify(message)
    }
    for (const text of this.backlog.splice(0)) this.write(text)
    for (const client of [...this.clients]) this.welcome(client)
  }

  private welcome(client: TabClient): void {
    if (client.welcomed || !this.clients.has(client)) return
    client.welcomed = true
    client.deliver(this.handshake!())
  }

  private toAll(text: string): void {
    for (const client of [...this.clients]) client.deliver(text)
  }

  private tagFor(client: TabClient, { p, q = {}, t }: { p: string; q?: object; t?: number }): number {
    const tag = ++this.tags
    this.listens.set(tag, { client, path: p, query: queryId(q), tag: t })
    return tag
  }

  // cancelled forgets listens that the server has ended. Its push has no tag.
  private cancelled({ p, q }: { p: string; q?: object[] }): void {
    const path = formatPath(parsePath(p))
    const query = q ? q.map(queryId).join('$') : 'default'
    for (const [tag, listen] of this.listens)
      if (listen.path === path && listen.query === query) this.listens.delete(tag)
  }

  private untag(client: TabClient, body: { p: string; t?: number }): number | undefined {
    for (const [tag, listen] of this.listens) {
      if (listen.client !== client || listen.path !== body.p || listen.tag !== body.t) continue
      this.listens.delete(tag)
      return tag
    }
    return body.t
  }

  // carryOut does what the server would do if the tab had a connection of its own.
  private carryOut(client: TabClient): void {
    const plans = this.plans.take(client)
    for (const [action, body] of plans) {
      this.request('oc', { p: body.p, d: null })
      this.request(action === 'om' ? 'm' : 'p', body)
    }
    this.plan(
      client,
      plans.map(([, { p }]) => p)
    )
  }

  // plan leaves again what other clients had left where one has cancelled.
  private plan(client: TabClient, paths: string[]): void {
    for (const [action, body] of this.plans.after(client, paths)) this.request(action, body)
  }
}
