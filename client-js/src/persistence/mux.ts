import type { SocketClass } from '../core/socket.js'
import { type Guest, Line, type Request } from './line.js'
import { NOBODY, userAfter } from './user.js'

/**
 * A Mux carries the conversations of several tabs over as few connections as they
 * have users: a connection acts as one user, so tabs share it only if they are
 * signed in as the same. Who a tab is shows in the first request after its
 * greeting, which therefore can be that of any connection: only then it gets its
 * place.
 */
export class Mux {
  private readonly lines = new Set<Line>()
  private readonly guests = new Map<string, Guest>()
  // Of connections that have ended: the server ends them first if the next one names them.
  private readonly sessions: string[] = []

  constructor(
    private readonly Socket: SocketClass,
    /** Without the session of an earlier connection. */
    private readonly url: string
  ) {}

  /** A tab opens its connection. */
  open(id: string, deliver: (text: string) => void, end: () => void): void {
    const lines = [...this.lines]
    const line = lines.find(({ hello }) => hello) ?? lines[0] ?? this.connect()
    const ended = () => {
      this.guests.delete(id)
      end()
    }
    const guest: Guest = { deliver, end: ended, plans: [], line, greeted: false, seated: false }
    this.guests.set(id, guest)
    line.enter(guest)
  }

  /** A tab closes its connection, or is gone; then its plans are carried out. */
  close(id: string): void {
    const guest = this.guests.get(id)
    this.guests.delete(id)
    guest?.line.leave(guest)
  }

  /** Ends all. */
  stop(): void {
    for (const line of [...this.lines]) line.stop()
  }

  /** Takes a message of a tab. False if it has no open connection. */
  receive(id: string, text: string): boolean {
    const guest = this.guests.get(id)
    if (!guest?.greeted) return !!guest
    const { t, d } = JSON.parse(text)
    if (t === 'c') guest.line.probe(text)
    else this.pass(guest, d)
    return true
  }

  private pass(guest: Guest, request: Request): void {
    const user = userAfter(request.a, request.b)
    if (!guest.seated) this.seat(guest, user ?? NOBODY)
    else if (user !== undefined && user !== guest.line.user) {
      // Others must not act as somebody else, so it has to come back as a new guest.
      if (!guest.line.isAlone(guest)) return this.dismiss(guest)
      guest.line.user = user
    }
    guest.line.pass(guest, request)
  }

  // seat leads a guest to the connection of its user. Nothing was asked for it yet.
  private seat(guest: Guest, user: string): void {
    guest.seated = true
    guest.line.user ??= user
    if (guest.line.user === user) return
    const line = [...this.lines].find(line => line.user === user) ?? this.connect()
    line.user = user
    const before = guest.line
    guest.line = line
    line.enter(guest)
    before.leave(guest)
  }

  private dismiss(guest: Guest): void {
    guest.line.leave(guest)
    guest.end()
  }

  private connect(): Line {
    const line: Line = new Line(this.Socket, this.url, this.sessions.pop(), session => {
      this.lines.delete(line)
      if (session) this.sessions.push(session)
    })
    this.lines.add(line)
    return line
  }
}
