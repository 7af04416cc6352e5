import { joiner } from '../core/frames.js'
import type { SocketClass, SocketLike } from '../core/socket.js'
import { Mux } from './mux.js'
import { ALIVE } from './shared-connection.js'

const PATIENCE = 5_000 // with a leader that does not answer

// Messages between tabs. Type literals, whose names the build does not shorten: tabs may
// run different builds.
type Message =
  | { kind: 'open' | 'close'; from: string; socket: string }
  | { kind: 'up'; from: string; socket: string; text: string }
  | { kind: 'down'; socket: string; text: string }
  | { kind: 'end'; socket: string }
  | { kind: 'leader' }

/** The part of the browser that tabs use. */
export type Platform = {
  locks?: Pick<LockManager, 'request'>
  channel?: BroadcastChannel
}

/**
 * Lets the tabs of a database share one connection. The tab that holds a lock is the
 * leader and has the connection; the others talk to it over a channel. When the leader is
 * gone, the next tab in the queue for the lock takes over. While it hangs, as at a breakpoint, the
 * others open connections of their own.
 */
export class Tabs {
  private mux?: Mux
  private readonly sockets = new Map<string, TabSocket>()
  private readonly locks: Pick<LockManager, 'request'>
  private readonly channel: BroadcastChannel
  private readonly closing = new AbortController()
  private readonly watched = new Set<string>()
  private count = 0
  private readonly held: Promise<unknown> // resolves when this tab has its own lock
  private leading = false
  private resign = () => {}

  constructor(
    private readonly name: string,
    readonly id: string,
    private readonly Socket: SocketClass,
    /** The address of the server. */
    private readonly url: string,
    platform: Required<Platform>
  ) {
    this.locks = platform.locks
    this.channel = platform.channel
    this.channel.onmessage = event => this.receive(event.data)
    this.held = new Promise(resolve => {
      this.hold(id, resolve).catch(resolve)
    })
    void this.lead().catch(() => {})
  }

  /** The class of the sockets by which this tab uses the common connection. */
  socketClass(): SocketClass {
    const open = (socket: TabSocket) => this.open(socket)
    const send = (socket: TabSocket, text: string) => this.up(socket, text)
    const close = (socket: TabSocket) => this.close(socket)
    return class extends TabSocket {
      constructor(url: string) {
        super(url, send, close)
        open(this)
      }
    }
  }

  stop(): void {
    for (const socket of [...this.sockets.values()]) socket.close()
    this.closing.abort()
    this.resign()
    this.mux?.stop()
    this.channel.close()
  }

  // hold keeps a lock as long as this tab lives. Other tabs wait for it to learn of the end.
  private hold(id: string, held: (lock: unknown) => void): Promise<unknown> {
    return this.locks.request(`${this.name} ${id}`, lock => {
      held(lock)
      return this.untilStop()
    })
  }

  private async lead(): Promise<void> {
    const { signal } = this.closing
    await this.locks.request(`${this.name} leader`, { signal }, async () => {
      if (signal.aborted) return
      this.tell({ kind: 'leader' })
      this.leading = true
      for (const socket of [...this.sockets.values()]) {
        if (socket.greeted) this.ended(socket.key)
        else this.admit(this.id, socket.key, socket.url)
      }
      await this.untilStop()
    })
  }

  private untilStop(): Promise<void> {
    return new Promise(resolve => {
      const { resign } = this
      this.resign = () => {
        resign()
        resolve()
      }
    })
  }

  private tell(message: Message): void {
    this.channel.postMessage(message)
  }

  // ---- as a tab

  private open(socket: TabSocket): void {
    socket.key = `${this.id} ${++this.count}`
    this.sockets.set(socket.key, socket)
    if (this.leading) void this.enter(socket)
    else void this.ask(socket)
  }

  // enter waits until the caller listens to its new socket: a connection that is open
  // already sends the handshake at once.
  private async enter({ key, url }: TabSocket): Promise<void> {
    await Promise.resolve()
    if (this.sockets.has(key)) this.admit(this.id, key, url)
  }

  // ask waits for the lock of this tab. Without it the leader would take the tab for gone.
  private async ask(socket: TabSocket): Promise<void> {
    await this.held
    if (!this.sockets.has(socket.key)) return
    this.tell({ kind: 'open', from: this.id, socket: socket.key })
    const timer = setTimeout(() => this.bypass(socket), PATIENCE)
    ;(timer as { unref?(): void }).unref?.()
  }

  // bypass gives a socket that was not admitted a connection of its own. That names no session: the last
  // one of this tab may be that of the others.
  private bypass(socket: TabSocket): void {
    if (this.leading || socket.greeted || !this.sockets.has(socket.key)) return
    this.close(socket) // for when the leader goes on
    socket.use(new this.Socket(this.url))
  }

  private up(socket: TabSocket, text: string): void {
    if (this.leading) this.mux?.receive(socket.key, text)
    else this.tell({ kind: 'up', from: this.id, socket: socket.key, text })
  }

  private close(socket: TabSocket): void {
    if (!this.sockets.delete(socket.key)) return
    if (this.leading) this.mux?.close(socket.key)
    else this.tell({ kind: 'close', from: this.id, socket: socket.key })
  }

  private down(key: string, text: string): void {
    const socket = this.sockets.get(key)
    if (!socket) return
    socket.greeted = true
    socket.onmessage?.({ data: text })
  }

  private ended(key: string): void {
    const socket = this.sockets.get(key)
    this.sockets.delete(key)
    socket?.onclose?.({})
  }

  private receive(message: Message): void {
    if (message.kind === 'leader') {
      for (const key of [...this.sockets.keys()]) this.ended(key)
    } else if (message.kind === 'down') this.down(message.socket, message.text)
    else if (message.kind === 'end') this.ended(message.socket)
    else if (!this.leading) return
    else if (message.kind === 'open') this.admit(message.from, message.socket)
    else if (message.kind === 'up') this.take(message.socket, message.text)
    else this.mux?.close(message.socket)
  }

  // ---- as the leader

  private admit(tab: string, key: string, url = this.url): void {
    // The connection of this tab appends the session that it had over a leader that is gone.
    const [address, session] = url.split('&ls=')
    this.mux ??= new Mux(this.Socket, address!, session)
    const own = tab === this.id
    this.mux.open(
      key,
      text => (own ? this.down(key, text) : this.tell({ kind: 'down', socket: key, text })),
      () => (own ? this.ended(key) : this.tell({ kind: 'end', socket: key }))
    )
    if (own) return
    this.tell({ kind: 'down', socket: key, text: ALIVE }) // the handshake may take its time
    this.watch(tab)
  }

  // take passes on a message of a tab, or tells the tab that it has no connection any more.
  private take(key: string, text: string): void {
    if (!this.mux?.receive(key, text)) this.tell({ kind: 'end', socket: key })
  }

  // watch waits for the lock of a tab: once it is granted, the tab is gone.
  private watch(tab: string): void {
    if (this.watched.has(tab)) return
    this.watched.add(tab)
    const { signal } = this.closing
    const gone = () => {
      this.watched.delete(tab)
      this.mux?.closeAll(`${tab} `)
    }
    this.locks.request(`${this.name} ${tab}`, { signal }, gone).catch(() => {})
  }
}

/** A socket for the client of this tab; its messages go through the leader. */
class TabSocket {
  onopen: any = null
  onmessage: any = null
  onclose: any = null
  onerror: any = null
  key = ''
  greeted = false // it has received a message, so a leader has admitted it
  private own?: SocketLike // in place of the leader
  private readonly join: (piece: string) => void

  constructor(
    readonly url: string,
    send: (socket: TabSocket, text: string) => void,
    private readonly end: (socket: TabSocket) => void
  ) {
    this.join = joiner(text => send(this, text))
  }

  get bufferedAmount(): number | undefined {
    return this.own?.bufferedAmount
  }

  /** Goes on as another socket. */
  use(own: SocketLike): void {
    own.onmessage = (event: { data: unknown }) => this.onmessage?.(event)
    own.onclose = own.onerror = () => this.onclose?.({})
    this.own = own
  }

  send(piece: string): void {
    if (this.own) this.own.send(piece)
    else this.join(piece)
  }

  close(): void {
    if (this.own) this.own.close()
    else this.end(this)
  }
}
