// A world: some clients of one library, on a namespace of their own.

import { HeldSocket, Lost } from '../support/held-socket.js'
import type { Server } from '../support/server.js'
import type { Constraint, Step } from './history.js'

/** A library, by the names of `firebase/database`, and a way to make databases. */
export interface Library {
  api: any
  open(url: string): { db: any; close(): unknown }
}

interface Client {
  db: any
  close(): unknown
  socket?: HeldSocket
  listeners: Map<number, () => void>
  reactions: Map<number, () => void>
  sessions: number
  planned: boolean // has asked for onDisconnect writes, perhaps without an answer yet
}

const pause = () => new Promise(resolve => setTimeout(resolve, 1))

/** What a transaction of each kind makes of a value. */
const updates: Record<string, (value: any) => unknown> = {
  add: value => (typeof value === 'number' ? value + 1 : 1),
  object: value => (value !== null && typeof value === 'object' ? { ...value, c: 1 } : { a: 1 }),
  remove: () => null,
  none: () => undefined,
  refuse: value => (value === null ? 1 : undefined),
  no: () => 'no'
}

export class World {
  private log: string[] = []
  // How promises end. Their order within a step depends on how many promises
  // are behind each other, so it is not compared.
  private outcomes: string[] = []
  private readonly clients: Client[] = []
  // What the world waits for apart from answers to requests.
  private doing = 'nothing'
  /** An error inside of the library: it has failed one of its own assertions. */
  broken?: string

  constructor(
    private readonly library: Library,
    private readonly server: Pick<Server, 'url' | 'rest'>,
    private readonly ns: string
  ) {}

  async start(count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      const { db, close } = this.library.open(this.server.url(this.ns))
      this.clients.push({
        db,
        close,
        listeners: new Map(),
        reactions: new Map(),
        sessions: 0,
        planned: false
      })
      await this.connect(i)
    }
  }

  async stop(): Promise<void> {
    for (const client of this.clients) {
      if (client.socket) this.library.api.goOffline(client.db)
      await client.close()
    }
    HeldSocket.awaited.delete(this.ns)
  }

  /** Carries out a step. Returns what was seen meanwhile. */
  async step(step: Step): Promise<string[]> {
    await this.attempt(() => this.perform(step))
    await pause()
    return this.seen()
  }

  // attempt notes an error of the library. A lost connection is none: it ends the history.
  private async attempt(action: () => unknown): Promise<void> {
    try {
      await action()
    } catch (error) {
      if (error instanceof Lost) throw error
      this.broken ??= String(error)
    }
  }

  /** What the world waits for at the moment. */
  get waits(): string[] {
    const requests = this.clients.flatMap(({ socket }, i) =>
      (socket?.unanswered ?? []).map(text => `client ${i}: the answer to ${text}`)
    )
    return requests.length ? requests : [this.doing]
  }

  // during runs an action, and says meanwhile what is waited for.
  private async during<T>(what: string, action: () => Promise<T>): Promise<T> {
    this.doing = what
    const result = await action()
    this.doing = 'nothing'
    return result
  }

  /** How many ends of listens the clients want to send. */
  get ends(): number {
    const requests = this.clients.flatMap(({ socket }) => socket?.outgoing ?? [])
    return requests.filter(text => text.includes('"a":"n"')).length
  }

  /** Brings everything to rest. Returns what was seen meanwhile, and what is left. */
  async settle(): Promise<string[]> {
    await this.attempt(() => this.rest())
    for (const base of ['/d', '/e']) {
      const data = await this.during(`the data at ${base}`, () => this.server.rest(this.ns, 'GET', base))
      this.log.push(`data ${JSON.stringify(data)}`)
    }
    return this.seen()
  }

  private async rest(): Promise<void> {
    for (let i = 0; i < this.clients.length; i++) if (!this.clients[i]!.socket) await this.connect(i)
    for (let busy = true; busy; ) {
      busy = false
      for (let i = 0; i < this.clients.length; i++) {
        const { socket } = this.clients[i]!
        if (!socket?.outgoing.length && !socket?.incoming.length) continue
        busy = true
        await this.flush(i)
        socket.deliver()
        await pause()
      }
    }
  }

  private seen(): string[] {
    const seen = [...this.log, ...this.outcomes.sort()]
    this.log = []
    this.outcomes = []
    return seen
  }

  private note(client: number, text: string): void {
    this.log.push(`${client}: ${text}`)
  }

  private query(client: Client, path: string, constraints: readonly Constraint[]): any {
    const { api } = this.library
    const ref = path ? api.ref(client.db, path) : api.ref(client.db)
    return api.query(ref, ...constraints.map(([name, ...args]) => api[name](...args)))
  }

  private async perform(step: Step): Promise<void> {
    const { api } = this.library
    const i = step.client
    const client = this.clients[i]!
    const ref = 'path' in step && step.path ? api.ref(client.db, step.path) : undefined
    switch (step.op) {
      case 'listen':
        return this.listen(i, step)
      case 'unlisten':
        client.listeners.get(step.id)?.()
        return
      case 'off':
        return api.off(this.query(client, step.path, step.query), step.type)
      case 'set':
        return this.outcome(i, step, () => api.set(ref, step.value))
      case 'setPriority':
        return this.outcome(i, step, () => api.setPriority(ref, step.priority))
      case 'update':
        return this.outcome(i, step, () => api.update(ref, step.values))
      case 'transaction':
        return this.outcome(i, step, async () => {
          const update = (value: any) => {
            this.note(i, `run ${step.path} ${JSON.stringify(value)}`)
            return updates[step.kind]!(value)
          }
          const { committed, snapshot } = await api.runTransaction(ref, update, { applyLocally: step.local })
          return `${committed} ${JSON.stringify(snapshot.exportVal())}`
        })
      case 'get':
        return this.outcome(i, step, async () => {
          const snapshot = await api.get(this.query(client, step.path, step.query)).catch(() => {
            throw new Error('failed')
          })
          return JSON.stringify(snapshot.exportVal())
        })
      case 'later':
        return this.later(i, step)
      case 'react':
        client.reactions.set(step.id, () => {
          this.outcome(i, step, () => api.set(ref, step.value))
        })
        return
      case 'flush':
        return this.flush(i, step.count)
      case 'deliver':
        return client.socket?.deliver(step.count)
      case 'offline':
        return this.disconnect(i)
      case 'online':
        if (!client.socket) await this.connect(i)
    }
  }

  private outcome(i: number, step: Step, action: () => Promise<unknown>): void {
    const what = `${step.op} ${'path' in step ? step.path : ''}`
    let result: Promise<unknown>
    try {
      result = action()
    } catch (error) {
      this.broken ??= String(error)
      return
    }
    result.then(
      result => this.outcomes.push(`${i}: ${what} ok ${result ?? ''}`),
      error => this.outcomes.push(`${i}: ${what} ${(error.code ?? error.message).toUpperCase()}`)
    )
  }

  private listen(i: number, step: Step & { op: 'listen' }): void {
    const { api } = this.library
    const client = this.clients[i]!
    const { id, type, path, query, once } = step
    const on = {
      value: 'onValue',
      child_added: 'onChildAdded',
      child_changed: 'onChildChanged',
      child_moved: 'onChildMoved',
      child_removed: 'onChildRemoved'
    }[type]!
    const next = (snapshot: any, previous?: string | null) => {
      const order: string[] = []
      // The official client throws for some snapshots of children.
      if (type === 'value') snapshot.forEach((child: any) => void order.push(child.key))
      this.note(
        i,
        `#${id} ${type} ${snapshot.key} ${JSON.stringify(snapshot.exportVal())} [${order}] ${type === 'value' ? '' : previous}`
      )
      const react = client.reactions.get(id)
      client.reactions.delete(id)
      react?.()
    }
    const cancel = (error: any) => this.note(i, `#${id} cancelled ${error.code}`)
    client.listeners.set(id, api[on](this.query(client, path, query), next, cancel, { onlyOnce: once }))
  }

  private later(i: number, step: Step & { op: 'later' }): void {
    const { api } = this.library
    this.clients[i]!.planned = true
    const plan = api.onDisconnect(api.ref(this.clients[i]!.db, step.path))
    this.outcome(i, step, () => {
      if (step.kind === 'set') return plan.set(step.value)
      if (step.kind === 'update') return plan.update({ a: step.value })
      return plan[step.kind]()
    })
  }

  // flush sends what one client has to say, and fetches the news for all.
  private async flush(i: number, count?: number): Promise<void> {
    await this.clients[i]!.socket?.flush(count)
    await this.fence()
  }

  private async fence(): Promise<void> {
    for (const { socket } of this.clients) await socket?.fence()
  }

  private async connect(i: number): Promise<void> {
    const client = this.clients[i]!
    const first = this.nextSocket()
    this.library.api.goOnline(client.db)
    const socket = await this.during(`client ${i}: a connection`, () => this.greeted(i, first))
    client.socket = socket
    socket.open()
    socket.deliver(1)
    await pause()
  }

  private nextSocket(): Promise<HeldSocket> {
    return new Promise(resolve => HeldSocket.awaited.set(this.ns, resolve))
  }

  // greeted returns the first socket that gets through to the server. On a busy machine a
  // client may give up an attempt and make another.
  private async greeted(i: number, next: Promise<HeldSocket>): Promise<HeldSocket> {
    const client = this.clients[i]!
    for (;;) {
      const socket = await next
      next = this.nextSocket()
      try {
        await socket.greeted
        // Tells when the server has noticed the end of this connection.
        await socket.request('o', { p: `/zz/${i}`, d: ++client.sessions })
        return socket
      } catch (error) {
        if (!(error instanceof Lost)) throw error
      }
    }
  }

  private async disconnect(i: number): Promise<void> {
    const client = this.clients[i]!
    if (!client.socket) return
    if (client.planned) {
      // The official client forgets unanswered plans, this one makes them again.
      await this.flush(i)
      client.socket.deliver()
      await pause()
      client.planned = false
    }
    client.socket = undefined
    this.library.api.goOffline(client.db)
    const ended = async () => (await this.server.rest(this.ns, 'GET', `/zz/${i}`)) === client.sessions
    await this.during(`client ${i}: the end of its session`, async () => {
      while (!(await ended())) await pause()
    })
    await this.fence()
  }
}
