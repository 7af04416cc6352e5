import type { SocketClass, SocketLike } from '../core/connection.js'
import { joiner, split } from '../core/frames.js'

const GRACE = 8_000 // for the server to answer a ping

/** One tab, as the sharing of a connection sees it. */
interface Guest {
  /** Delivers a message to the tab. */
  readonly deliver: (text: string) => void
  /** Ends the tab's connection. */
  readonly end: () => void
  /** What it has planned for its disconnect: action, path, data. */
  plans: [action: string, path: string, data: unknown][]
}

/** What the upper side has asked, and for whom. */
interface Asked {
  readonly guest: Guest
  readonly r: number
}

/**
 * A Mux carries the conversations of several tabs over one connection. It
 * numbers requests anew, and gives each listen a tag of its own, so that every
 * answer and every push finds its way. When the connection ends, it ends for
 * all; then each tab comes back and repeats what it needs.
 */
export class Mux {
  private readonly guests = new Map<string, Guest>()
  private upper?: SocketLike
  private hello?: () => string // the greeting of the server, as it would be now
  private session = ''
  private requests = 0
  private tags = 0
  private readonly asked = new Map<number, Asked>()
  // By upper tag: the guest and its own tag, if it has one.
  private readonly pushes = new Map<number, { guest: Guest; place: string; tag?: number }>()
  private timer?: ReturnType<typeof setTimeout>

  constructor(
    private readonly Socket: SocketClass,
    /** Without the session of an earlier connection. */
    private readonly url: string
  ) {}

  /** A tab opens its connection. */
  open(id: string, deliver: (text: string) => void, end: () => void): void {
    this.guests.set(id, { deliver, end, plans: [] })
    if (this.hello) deliver(this.hello())
    else if (!this.upper) this.connect()
  }

  /** A tab closes its connection, or is gone; then its plans are carried out. */
  close(id: string): void {
    const guest = this.guests.get(id)
    if (!guest) return
    this.guests.delete(id)
    for (const [tag, push] of this.pushes) {
      if (push.guest !== guest) continue
      this.pushes.delete(tag)
      this.request('n', { p: push.place, t: tag })
    }
    if (this.guests.size) this.carryOut(guest)
    else this.disconnect()
  }

  /** Ends all. */
  stop(): void {
    this.disconnect()
    this.endAll()
  }

  /** Takes a message of a tab. False if it has no open connection. */
  receive(id: string, text: string): boolean {
    const guest = this.guests.get(id)
    if (guest && this.hello) this.pass(guest, text)
    return !!guest
  }

  private pass(guest: Guest, text: string): void {
    const message = JSON.parse(text)
    if (message.t === 'c') return this.probe(text)
    const { r, a, b } = message.d
    if (a === 'q') b.t = this.tagFor(guest, b)
    else if (a === 'n') b.t = this.untag(guest, b)
    else if (a[0] === 'o') note(guest, a, b)
    this.asked.set(this.request(a, b), { guest, r })
  }

  // ---- upwards

  private connect(): void {
    const socket = new this.Socket(this.url + (this.session && `&ls=${this.session}`))
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

  private disconnect(): void {
    const { upper } = this
    clearTimeout(this.timer)
    this.upper = undefined
    this.hello = undefined
    this.asked.clear()
    this.pushes.clear()
    if (!upper) return
    upper.onmessage = upper.onclose = null
    upper.onerror = () => {}
    upper.close()
  }

  private endAll(): void {
    const guests = [...this.guests.values()]
    this.guests.clear()
    for (const guest of guests) guest.end()
  }

  private write(text: string): void {
    for (const piece of split(text)) this.upper?.send(piece)
  }

  private request(action: string, body: object): number {
    const r = ++this.requests
    this.write(JSON.stringify({ t: 'd', d: { r, a: action, b: body } }))
    return r
  }

  private probe(text: string): void {
    this.write(text)
    clearTimeout(this.timer)
    this.timer = setTimeout(() => this.stop(), GRACE)
  }

  // ---- downwards

  private arrive(text: string): void {
    const message = JSON.parse(text)
    const { d } = message
    if (message.t === 'c') {
      if (d.t === 'h') this.greeted(message)
      this.toAll(JSON.stringify(message))
    } else if ('r' in d) {
      const asked = this.asked.get(d.r)
      this.asked.delete(d.r)
      asked?.guest.deliver(JSON.stringify({ t: 'd', d: { r: asked.r, b: d.b } }))
    } else if (d.b.t !== undefined) {
      const push = this.pushes.get(d.b.t)
      push?.guest.deliver(JSON.stringify({ t: 'd', d: { a: d.a, b: { ...d.b, t: push.tag } } }))
    } else this.toAll(text)
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
  }

  private toAll(text: string): void {
    for (const guest of [...this.guests.values()]) guest.deliver(text)
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
      const planned = [...this.guests.values()].some(other => other.plans.some(plan => plan[1] === path))
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
