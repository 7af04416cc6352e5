import { defaultSocket } from '#socket'
import { clock, clockOffset } from './clock.js'
import { type Answer, errorOf, missing, noDatabase } from './errors.js'
import { excess, joiner, type Message, transmit } from './frames.js'
import { hashNode } from './hash.js'
import type { Handler, Kind, Link, Request } from './link.js'
import { log } from './log.js'
import { type Params, queryId } from './params.js'
import { formatPath, type Path, parsePath } from './path.js'
import { Positions } from './positions.js'
import type { SocketLike } from './socket.js'
import { named, type Subscription } from './sync.js'
import { type ConnectionState, isJWT, type Target } from './target.js'
import { LATE, PROBE, say, warn, warnIndex } from './warn.js'

const kinds: readonly Kind[] = ['write', 'disconnect', 'get']

const HANDSHAKE = 15_000
const QUIET = 30_000 // without a message: ping the server
const GRACE = 10_000 // time for the answer
const LONGEST_WAIT = 30_000
const SHORTEST_WAIT = 500
const STABLE = 10_000 // a connection that lasted counts as a success
const FEW = 3 // tokens that may be refused in a row before the client waits, and warns

/**
 * A Connection carries requests to the server and pushes from it. It detects when the
 * server is gone, reconnects with random delays, and repeats what has no answer yet: the
 * sign-in, the listens (with hash and position of the cached data) and the pending requests.
 */
export class Connection implements Link {
  state: ConnectionState = 'offline'
  socket?: SocketLike
  wanted = true // false after goOffline
  private host?: string // the host that the server has named
  private session?: string
  /** The extensions that the server supports, by letters. */
  features: readonly string[] = []
  private attempt = 0 // its number; callbacks of an older attempt compare it
  private openedAt!: number // by Date.now()
  private attemptedAt = -LONGEST_WAIT // long ago, so that the first attempt does not wait
  private dueAt = 0 // when the next attempt starts
  connectedAt = 0 // when the last handshake came, by the clock
  private outageAt = 0 // when the connection was lost, or first wanted
  private late?: ReturnType<typeof setTimeout> // warns if there is no first connection
  /** Why the last attempt could not be made. */
  problem?: string
  /** Answers every request until the connection is wanted again. */
  refusal?: Answer
  failures = 0
  refusals = 0 // of tokens, in a row
  /** The token that the server refused last, which it need not be asked about again. */
  refused?: { readonly token?: string | null; readonly answer: Answer }
  acceptedAt = Infinity // when this connection was signed in
  signing = false // a token has no answer yet: writes wait
  leaving = false // a token was refused: nothing is sent any more
  private heardAt = 0
  private probing = false
  private unsent?: number // what the socket had to send when the server was asked
  private timer?: ReturnType<typeof setTimeout>
  private requests = 0
  private readonly answers = new Map<number, (answer: Answer) => void>()
  readonly listens = new Map<string, Map<string, Subscription>>() // by path, by id
  private readonly positions = new Positions()
  readonly pending = new Set<Request>()
  token?: string | null
  given = false // the token is one that no connection has used yet
  readonly closing = new AbortController()
  onSignIn?: (answer: Answer) => void
  /** Reports whether a request has to wait, though it could be sent; `sendAll` asks again. */
  holds?: (request: Request) => boolean

  constructor(
    readonly target: Target,
    private readonly handler: Handler
  ) {
    const { closing } = this // has the property "signal", as the options of a listener do
    globalThis.addEventListener?.('online', this.wake, closing)
    globalThis.addEventListener?.('offline', this.drop, closing)
    globalThis.document?.addEventListener('visibilitychange', this.wake, closing)
  }

  // ---- requests

  listen(subscription: Subscription): void {
    const path = formatPath(subscription.path)
    const { refusal } = this
    if (refusal) return soon(() => this.finish(subscription, refusal))
    const known = this.listens.get(path) ?? new Map()
    this.listens.set(path, known.set(subscription.id, subscription))
    if (this.state !== 'connected') this.hurry()
    else if (!this.leaving) this.sendListen(subscription)
  }

  unlisten(path: Path, id: string): void {
    const subscription = this.forget(formatPath(path), id)
    if (subscription && this.state === 'connected') this.request('n', named(subscription))
  }

  private readonly all = () => [...this.listens.values()].flatMap(known => [...known.values()])

  private forget(path: string, id: string): Subscription | undefined {
    const known = this.listens.get(path)
    const subscription = known?.get(id)
    known?.delete(id)
    if (!known?.size) this.listens.delete(path)
    return subscription
  }

  send(
    kind: Kind,
    action: string,
    body: Record<string, unknown>,
    done: (answer: Answer) => void,
    writeId?: string
  ): void {
    const { refusal } = this
    if (refusal) return soon(() => done(refusal))
    const request: Request = { kind, action, body, done, writeId }
    this.pending.add(request)
    if (this.state !== 'connected') this.hurry()
    else if (!this.signing && !this.leaving) this.sendPending(request)
  }

  /**
   * Fails all pending requests and listens, and all requests from now on. Writes that are
   * on disk may stay: they wait for the next sign-in.
   */
  refuse(answer: Answer, savedStay = false): void {
    this.refusal = answer
    const listens = this.all()
    const requests = [...this.pending].filter(({ writeId }) => !savedStay || !writeId)
    this.listens.clear()
    for (const request of requests) this.pending.delete(request)
    for (const subscription of listens) this.finish(subscription, answer)
    for (const { done } of requests) done(answer)
    this.onSignIn?.(answer)
    this.onSignIn = undefined
  }

  // ---- being online

  goOffline(): void {
    this.wanted = false
    this.drop()
    this.become('offline')
  }

  // wake reacts to a sign that the network is back or the machine awake.
  private readonly wake = (): void => {
    if (globalThis.document?.hidden) return
    if (this.state === 'connected') this.probe()
    else {
      this.failures = 0
      this.outageAt = clock()
      if (this.state === 'waiting') this.hurry()
    }
  }

  /** Connects soon, since a request or a listener needs it. */
  hurry(): void {
    const waits = this.state === 'waiting'
    if (!this.wanted || (!waits && !/^(offline|refused)$/.test(this.state))) return
    const delay = Math.max(0, this.attemptedAt + 1000 * (1 + Math.random()) - clock())
    // After many refusals a token is not tried more often because there is more to do.
    if (!waits || (this.refusals < FEW && clock() + delay < this.dueAt)) this.schedule(delay)
  }

  /** Connects after `delay` milliseconds. */
  schedule(delay: number): void {
    clearTimeout(this.timer)
    this.become('waiting')
    this.dueAt = clock() + delay
    this.timer = setTimeout(() => this.connect(), delay)
  }

  private become(state: ConnectionState, reason?: string): void {
    const before = this.state
    if (before === state) return
    this.state = state
    if (!/ing$/.test(state)) clearTimeout(this.late)
    else if (before === 'offline') {
      this.outageAt = clock()
      if (!this.connectedAt) this.late = setTimeout(() => warn(this), LATE - PROBE)
    }
    this.handler.state(state, reason)
  }

  private async connect(): Promise<void> {
    const attempt = ++this.attempt
    this.attemptedAt = clock()
    this.become('connecting')
    this.timer = setTimeout(this.drop, HANDSHAKE)
    const { target, refused } = this
    let missing = 'token'
    try {
      const token = this.given ? null : await target.token?.(!!refused)
      if (attempt !== this.attempt) return
      if (target.token && !this.given) this.token = token
      if (refused && this.token === refused.token) return this.giveUp(refused.answer)
      missing = 'socket'
      this.open(target)
      this.problem = ''
    } catch (error) {
      if (attempt !== this.attempt) return
      this.problem = `there is no ${missing}: ${error}`
      this.drop()
    }
  }

  private open(target: Target): void {
    const Socket = target.WebSocket ?? defaultSocket()
    const host = this.host ?? target.host
    const session = this.session ? `&ls=${this.session}` : ''
    const namespace = target.namespace && `&ns=${target.namespace}`
    this.openedAt = Date.now()
    const socket = new Socket(`${target.secure ? 'wss' : 'ws'}://${host}/.ws?v=5${namespace}${session}`)
    const receive = joiner(text => {
      log('receive', text)
      this.receive(JSON.parse(text))
    })
    socket.onmessage = (event: MessageEvent) => {
      this.alive()
      try {
        receive(String(event.data))
      } catch (error) {
        // Not a message of a server. The next connection starts afresh.
        log('bad message', error)
        this.drop()
      }
    }
    socket.onclose = socket.onerror = this.drop
    this.socket = socket as SocketLike
  }

  /** Ends this connection or attempt and schedules the next one. */
  private readonly drop = (): void => {
    const { socket, state } = this
    const sent = [...this.pending].filter(({ sent }) => sent)
    if (state === 'offline' || state === 'refused') return
    this.attempt++
    clearTimeout(this.timer)
    this.socket = undefined
    if (socket) {
      // In Node, closing a socket that is not open yet raises an error event.
      socket.onopen = socket.onmessage = socket.onclose = null
      socket.onerror = () => {}
      socket.close()
    }
    this.answers.clear()
    this.positions.lost()
    for (const request of sent) request.sent = false
    this.signing = this.leaving = false
    this.good()
    if (this.wanted) this.retry()
    else this.become('offline')
    if (state === 'connected') this.lost(sent)
  }

  private retry(): void {
    const now = clock()
    if (this.state === 'connected') {
      const lasted = now - this.connectedAt
      if (lasted > STABLE) this.failures = 0
      this.outageAt = lasted > STABLE ? now : this.outageAt + lasted
    }
    this.failures++
    // A short outage means a short wait. The random part spreads the clients of a server.
    const longest = Math.min(LONGEST_WAIT, SHORTEST_WAIT + (now - this.outageAt) / 2)
    this.schedule(this.refusals >= FEW ? LONGEST_WAIT : (longest * (1 + Math.random())) / 2)
  }

  private lost(sent: readonly Request[]): void {
    for (const request of sent) {
      // The server may have applied a conditional write. It must not be sent again, so it fails.
      if ('h' in request.body) {
        this.pending.delete(request)
        request.done({ s: 'disconnect' })
      }
    }
    this.handler.connected(false)
  }

  // ---- liveness

  private watch(after: number): void {
    clearTimeout(this.timer)
    this.timer = setTimeout(() => {
      // The answer waits behind a long write. While that is sent on, the server is there.
      if (this.socket!.bufferedAmount! < this.unsent!) this.alive()
      // Use the wall clock: it also counts the time that the machine was asleep.
      const silent = Date.now() - this.heardAt
      if (this.probing) this.drop()
      else if (silent < QUIET && silent >= 0) this.watch(QUIET - silent)
      else this.probe()
    }, after)
  }

  private alive(): void {
    this.heardAt = Date.now()
    this.probing = false
    this.unsent = 0
  }

  private probe(): void {
    this.probing = true
    this.unsent = this.socket!.bufferedAmount
    this.write({ t: 'c', d: { t: 'p', d: {} } })
    this.watch(GRACE)
  }

  // ---- messages

  private write({ t, d }: Message): void {
    const text = JSON.stringify({ t, d })
    // The server would close the connection, and the next one too. Answer in its place.
    const why = excess(text)
    if (why) return queueMicrotask(() => this.receive({ t, d: { ...d, b: { s: 'too_big', d: why } } }))
    log('send', text)
    const more = transmit(this.socket!, text)
    if (this.unsent) this.unsent += more
  }

  request(action: string, body: object, done?: (answer: Answer) => void): void {
    const id = ++this.requests
    if (done) this.answers.set(id, done)
    this.write({ t: 'd', d: { r: id, a: action, b: body } })
  }

  private receive({ t, d }: Message): void {
    if (t === 'c') this.control(d)
    else if ('r' in d) {
      const done = this.answers.get(d.r)
      this.answers.delete(d.r)
      const bad = typeof d.b?.s !== 'string'
      done?.(bad ? { s: 'bad_answer' } : d.b)
      if (bad) this.drop() // the next connection starts afresh
    } else if (d.a) this.push(d.a, d.b)
  }

  private control({ t, d }: Message): void {
    if (t === 'h') this.ready(d)
    else if (t === 'r') {
      this.host = d
      this.drop()
      // Not at once if servers redirect without end.
      if (this.wanted && this.failures < 4) this.schedule(0)
    } else if (t === 's') this.end(noDatabase.test(d) ? missing(this.target) : { s: 'refused', d }, d)
  }

  // end stops for good: nothing is tried again before the application asks for it.
  private end(answer: Answer, reason: string, savedStay?: boolean): void {
    this.wanted = false
    this.drop()
    this.refusal = answer // for what is called when the state is told
    this.become('refused', reason)
    say(errorOf(answer).message)
    this.refuse(answer, savedStay)
  }

  private ready({ ts, s, h, f }: { ts: number; s: string; h?: string; f?: string[] }): void {
    this.session = s
    this.features = f ?? []
    // A local server names the address it listens on, which may not be reachable from here.
    if (h && this.target.secure) this.host = h
    this.given = false
    this.connectedAt = clock()
    this.handler.clock(clockOffset(ts, this.openedAt))
    if (!this.socket) return // a listener has gone offline
    this.watch(QUIET)
    this.authenticate()
    // Listens need not wait for the answer: the server takes requests in order, and what it
    // says to them after a refusal is not heeded.
    for (const subscription of this.all()) this.sendListen(subscription)
    this.sendAll()
    this.become('connected')
    if (this.state === 'connected') this.handler.connected(true)
  }

  /** Sends what waits, unless it has to wait for the answer to a token. */
  sendAll(): void {
    for (const kind of kinds) {
      for (const request of [...this.pending]) {
        if (request.kind === kind && !request.sent && !this.signing && !this.leaving)
          this.sendPending(request)
      }
    }
  }

  authenticate(): void {
    const { token } = this
    if (!token) return
    this.signing = true
    this.request(isJWT(token) ? 'auth' : 'gauth', { cred: token }, answer => {
      if (token !== this.token) return
      this.signing = false
      if (answer.s === 'ok') {
        this.refused = undefined
        this.acceptedAt = clock()
        this.sendAll()
      } else this.revoked(answer)
      this.onSignIn?.(answer)
      this.onSignIn = undefined
    })
  }

  // good forgets refusals if the token was good for a while.
  private good(): void {
    if (clock() - this.acceptedAt > STABLE) this.refusals = 0
    this.acceptedAt = Infinity
  }

  // revoked leaves the connection, to try a fresh token on another one.
  private revoked({ s, d }: Answer): void {
    if (this.leaving) return
    this.good()
    this.refused = { token: this.token, answer: { s, d: `the server refuses the token: ${d}` } }
    if (++this.refusals === FEW) say(`${errorOf(this.refused.answer).message} A fresh one is tried later.`)
    this.leaving = true
    this.leave()
  }

  // leave waits for the answers to writes: one that the server has carried out is not sent again.
  private leave(): void {
    if ([...this.pending].some(({ kind, sent }) => sent && kind === 'write')) return
    if (this.refusals > FEW) this.giveUp(this.refused!.answer)
    else this.drop()
  }

  // giveUp ends with a token that cannot be replaced. Signed out, it would write as nobody.
  private giveUp(answer: Answer): void {
    this.end(answer, answer.d as string, true)
  }

  private sendListen(subscription: Subscription): void {
    const name = named(subscription)
    const answered = (answer: Answer) => {
      // The listen may have been removed, and even replaced, in the meantime.
      if (this.listens.get(name.p)?.get(subscription.id) !== subscription) return
      if (answer.s !== 'ok' && this.leaving) return
      this.positions.took(subscription)
      if (answer.s !== 'ok') this.forget(name.p, subscription.id)
      else warnIndex(this.target, subscription, answer.d)
      this.finish(subscription, answer)
    }
    const missing = subscription.lacks?.(this.features)
    if (missing) return soon(() => answered(missing))
    const since = this.positions.of(subscription, this.features.includes('p'))
    const h = hashNode(subscription.again(!!since).node)
    this.request(subscription.action ?? 'q', { ...name, h, since, chg: subscription.chg?.() }, answered)
  }

  /** Ends the listen unless the answer is "ok". */
  finish(subscription: Subscription, answer: Answer): void {
    const error = answer.s === 'ok' ? undefined : errorOf(answer, formatPath(subscription.path))
    this.handler.events(subscription.path, subscription.done(answer.s, error))
  }

  private sendPending(request: Request): void {
    if (this.holds?.(request)) return
    const { action, body, writeId } = request
    const numbered = !!writeId && this.features.includes('w') && { w: writeId }
    const conflicts = request.kind === 'write' && this.features.includes('u') && { u: 1 }
    const missing = (body.q as Params['filter'])?.lacks?.(this.features)
    if (missing) {
      this.pending.delete(request)
      return soon(() => request.done(missing))
    }
    request.sent = true
    this.request(action, { ...body, ...numbered, ...conflicts }, answer => {
      request.sent = false
      // One that was refused without the token is sent again with the next one.
      if (!this.leaving || answer.s !== 'permission_denied') {
        this.pending.delete(request)
        request.done(answer)
      }
      if (this.leaving) this.leave()
    })
  }

  private push(action: string, body: any): void {
    if (/^(d|m|nt)$/.test(action)) {
      this.handler.push(parsePath(body.p), body.d, action === 'm', body.t)
    } else if (action === 'c' && !this.leaving) {
      const id = body.q ? body.q.map(queryId).join('$') : 'default'
      const path = formatPath(parsePath(body.p))
      for (const subscription of [...(this.listens.get(path)?.values() ?? [])]) {
        if ((subscription.chg ? queryId(subscription.query ?? {}) : subscription.id) !== id) continue
        this.forget(path, subscription.id)
        this.finish(subscription, { s: body.s ?? 'permission_denied', d: body.d, rule: body.rule })
      }
    } else if (action === 'at' && !this.leaving) this.positions.reached(body.d, this.all())
    else if (action === 'ac') this.revoked(body)
  }
}

// soon defers an answer, so that none comes before the call returns.
const soon = (f: () => void): void => void setTimeout(f)
