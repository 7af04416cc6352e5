import { joiner, split } from '../core/frames.js'
import type { SocketClass, SocketLike } from '../core/socket.js'
import { signsIn } from './user.js'

const GRACE = 8_000 // for the server to answer a ping

/** One tab, as the sharing of a connection sees it. */
export interface Guest {
  /** Delivers a message to the tab. */
  readonly deliver: (text: string) => void
  /** Ends the tab's connection. */
  readonly end: () => void
  /** What it has planned for its disconnect: action, path, data. */
  plans: [action: string, path: string, data: unknown][]
  /** The connection that carries it. */
  line: Line
  /** It has got the greeting of the server. */
  greeted: boolean
  /** It has asked for something, so that its user is known. */
  seated: boolean
  /** What it asks while the server looks at its credential. */
  held?: Request[]
}

/** A request of the protocol. Type literals keep the names of the protocol. */
export type Request = { r: number; a: string; b: any }

/** What the upper side has asked, and for whom. */
interface Asked {
  readonly guest: Guest
  readonly r: number
  readonly signIn: boolean
}

/**
 * A Line is one connection, shared by tabs of the same user. It numbers requests
 * anew, and gives each listen a tag of its own, so that every answer and every
 * push finds its way. When the connection ends, it ends for all; then each tab
 * comes back and repeats what it needs.
 */
export class Line {
  private readonly guests = new Set<Guest>()
  /** As whom it acts; undefined before anything was asked. */
  user?: string
  /** The greeting of the server, as it would be now. */
  hello?: () => string
  private upper?: SocketLike
  private backlog: string[] = [] // what is to be sent after the greeting
  private requests = 0
  private tags = 0
  private readonly asked = new Map<number, Asked>()
  // By upper tag: the guest and its own tag, if it has one.
  private readonly pushes = new Map<number, { guest: Guest; place: string; tag?: number }>()
  private timer?: ReturnType<typeof setTimeout>

  constructor(
    Socket: SocketClass,
    url: string,
    /** That of an earlier connection until it has its own. */
    private session: string | undefined,
    /** Hears that the connection has ended. */
    private readonly onEnd: (session?: string) => void
  ) {
    const socket = new Socket(url + (session ? `&ls=${session}` : ''))
    const receive = joiner(text => this.arrive(text))
    socket.onmessage = (event: { data: unknown }) => {
      clearTimeout(this.timer)
      try {
        receive(String(event.data))
      } catch {
        this.stop() // no server says this
      }
    }
    socket.onclose = socket.onerror = () => this.stop()
    this.upper = socket
  }

  /** A guest comes, new or from another connection. */
  enter(guest: Guest): void {
    this.guests.add(guest)
    if (this.hello) this.greet(guest)
  }

  /** A guest goes; then its plans are carried out. */
  leave(guest: Guest): void {
    this.guests.delete(guest)
    for (const [tag, push] of this.pushes) {
      if (push.guest !== guest) continue
      this.pushes.delete(tag)
      this.request('n', { p: push.place, t: tag })
    }
    if (this.guests.size) this.carryOut(guest)
    else this.disconnect()
  }

  /** Ends the connection, and that of all its guests. */
  stop(): void {
    this.disconnect()
    const guests = [...this.guests]
    this.guests.clear()
    for (const guest of guests) guest.end()
  }

  /** Reports whether nobody else uses the connection, and nothing of the guest waits. */
  isAlone(guest: Guest): boolean {
    return this.guests.size === 1 && !guest.held
  }

  /**
   * Sends a request of a guest whose user is that of the connection. What follows a
   * credential waits until the server has accepted it: others have made the connection
   * what it is, and one that is expired or forged must not make use of that.
   */
  pass(guest: Guest, request: Request): void {
    if (guest.held) {
      guest.held.push(request)
      return
    }
    const { r, a, b } = request
    const signIn = signsIn(a)
    if (signIn && !this.isAlone(guest)) guest.held = []
    if (a === 'q') b.t = this.tagFor(guest, b)
    else if (a === 'n') b.t = this.untag(guest, b)
    else if (a[0] === 'o') note(guest, a, b)
    this.asked.set(this.request(a, b), { guest, r, signIn })
  }

  /** Asks the server whether it is there, in the words of a guest. */
  probe(text: string): void {
    if (!this.hello) return
    this.write(text)
    clearTimeout(this.timer)
    this.timer = setTimeout(() => this.stop(), GRACE)
  }

  // ---- upwards

  private disconnect(): void {
    const { upper } = this
    clearTimeout(this.timer)
    if (!upper) return
    this.upper = undefined
    this.hello = undefined
    this.asked.clear()
    this.pushes.clear()
    upper.onmessage = upper.onclose = null
    upper.onerror = () => {}
    upper.close()
    this.onEnd(this.session)
  }

  private write(text: string): void {
    if (!this.hello) this.backlog.push(text)
    else for (const piece of split(text)) this.upper?.send(piece)
  }

  private request(action: string, body: object): number {
    const r = ++this.requests
    this.write(JSON.stringify({ t: 'd', d: { r, a: action, b: body } }))
    return r
  }

  // ---- downwards

  private arrive(text: string): void {
    const message = JSON.parse(text)
    const { d } = message
    if (message.t === 'c') {
      if (d.t === 'h') this.greeted(message)
      else this.toAll(text)
    } else if ('r' in d) this.answered(d)
    else if (d.b.t !== undefined) {
      const push = this.pushes.get(d.b.t)
      push?.guest.deliver(JSON.stringify({ t: 'd', d: { a: d.a, b: { ...d.b, t: push.tag } } }))
    } else {
      this.toAll(text)
      if (d.a === 'ac') this.stop() // it acts as nobody now
    }
  }

  private answered({ r, b }: { r: number; b: { s: string } }): void {
    const asked = this.asked.get(r)
    this.asked.delete(r)
    if (!asked) return
    const { guest } = asked
    guest.deliver(JSON.stringify({ t: 'd', d: { r: asked.r, b } }))
    if (asked.signIn && guest.held) this.release(guest, b.s === 'ok')
  }

  private release(guest: Guest, accepted: boolean): void {
    const held = guest.held ?? []
    guest.held = undefined
    if (!this.guests.has(guest)) return
    if (accepted) for (const request of held) this.pass(guest, request)
    else {
      this.leave(guest)
      guest.end()
    }
  }

  // greeted keeps the greeting for tabs that come later. It has the time. What tabs leave
  // for their end is carried out here, without conditions; so they are not offered any.
  private greeted(message: { d: { d: { ts: number; s: string; f?: string[] } } }): void {
    message.d.d.f = message.d.d.f?.filter(feature => feature !== 'c')
    const offset = message.d.d.ts - Date.now()
    this.session = message.d.d.s
    this.hello = () => {
      message.d.d.ts = Date.now() + offset
      return JSON.stringify(message)
    }
    for (const text of this.backlog.splice(0)) this.write(text)
    for (const guest of [...this.guests]) this.greet(guest)
  }

  private greet(guest: Guest): void {
    if (guest.greeted || !this.guests.has(guest)) return
    guest.greeted = true
    guest.deliver(this.hello!())
  }

  private toAll(text: string): void {
    for (const guest of [...this.guests]) guest.deliver(text)
  }

  private tagFor(guest: Guest, body: { p: string; t?: number }): number {
    const tag = ++this.tags
    this.pushes.set(tag, { guest, place: body.p, tag: body.t })
    return tag
  }

  private untag(guest: Guest, body: { p: string; t?: number }): number | undefined {
    for (const [tag, push] of this.pushes) {
      if (push.guest !== guest || push.place !== body.p || push.tag !== body.t) continue
      this.pushes.delete(tag)
      return tag
    }
    return body.t
  }

  // carryOut does what the server would do if the tab had a connection of its own.
  private carryOut({ plans }: Guest): void {
    for (const [action, path, data] of plans) {
      const planned = [...this.guests].some(other => other.plans.some(plan => plan[1] === path))
      if (!planned) this.request('oc', { p: path, d: null })
      this.request(action === 'om' ? 'm' : 'p', { p: path, d: data })
    }
  }
}

// note keeps track of what a tab has planned.
function note(guest: Guest, action: string, { p, d }: { p: string; d: unknown }): void {
  const below = (path: string) => `${path}/`.startsWith(p === '/' ? p : `${p}/`)
  if (action !== 'om') guest.plans = guest.plans.filter(([, path]) => !below(path))
  if (action !== 'oc') guest.plans.push([action, p, d])
}
