import type { SocketClass } from '../core/socket.js'
import { type Request, SharedConnection, type TabClient } from './shared-connection.js'
import { NOBODY, userAfter } from './user.js'

/**
 * A Mux carries several tabs over as few connections as they have users: a connection is
 * signed in as one user, so only tabs of the same user share it. The user of a tab shows
 * in its first request after the handshake. Therefore any connection may send the
 * handshake to a new tab, and the tab moves to the connection of its user afterwards.
 */
export class Mux {
  private readonly connections = new Set<SharedConnection>()
  private readonly clients = new Map<string, TabClient>()
  // Of connections that have ended: the server ends such a session first if a new connection names it.
  private readonly sessions: string[] = []

  constructor(
    private readonly Socket: SocketClass,
    /** Without the session of an earlier connection. */
    private readonly url: string,
    session?: string
  ) {
    if (session) this.sessions.push(session)
  }

  /** Opens the connection of a tab. */
  open(id: string, deliver: (text: string) => void, end: () => void): void {
    const connections = [...this.connections]
    const connection = connections.find(({ handshake }) => handshake) ?? connections[0] ?? this.connect()
    const ended = () => {
      this.clients.delete(id)
      end()
    }
    const client: TabClient = {
      deliver,
      end: ended,
      connection,
      welcomed: false,
      identified: false
    }
    this.clients.set(id, client)
    connection.add(client)
  }

  /** Closes the connection of a tab, or of one that is gone, and carries out its onDisconnect operations. */
  close(id: string): void {
    const client = this.clients.get(id)
    this.clients.delete(id)
    client?.connection.remove(client)
  }

  /** Closes the connections whose names begin so. */
  closeAll(prefix: string): void {
    for (const id of [...this.clients.keys()]) if (id.startsWith(prefix)) this.close(id)
  }

  /** Ends all connections. */
  stop(): void {
    for (const connection of [...this.connections]) connection.stop()
  }

  /** Takes a message of a tab. False if the tab has no open connection. */
  receive(id: string, text: string): boolean {
    const client = this.clients.get(id)
    if (!client?.welcomed) return !!client
    const { t, d } = JSON.parse(text)
    if (t === 'c') client.connection.probe(text)
    else this.send(client, d)
    return true
  }

  private send(client: TabClient, request: Request): void {
    const user = userAfter(request.a, request.b)
    if (!client.identified) this.identify(client, user ?? NOBODY)
    else if (user !== undefined && user !== client.connection.user) {
      // The user must not change for other tabs, so this one has to come back as a new client.
      if (!client.connection.isAlone(client)) return this.dismiss(client)
      client.connection.user = user
    }
    client.connection.send(client, request)
  }

  // identify moves a client to the connection of its user, before its first request is sent.
  private identify(client: TabClient, user: string): void {
    client.identified = true
    client.connection.user ??= user
    if (client.connection.user === user) return
    const connection = [...this.connections].find(other => other.user === user) ?? this.connect()
    connection.user = user
    const before = client.connection
    client.connection = connection
    connection.add(client)
    before.remove(client)
  }

  private dismiss(client: TabClient): void {
    client.connection.remove(client)
    client.end()
  }

  private connect(): SharedConnection {
    const connection: SharedConnection = new SharedConnection(
      this.Socket,
      this.url,
      this.sessions.pop(),
      session => {
        this.connections.delete(connection)
        if (session) this.sessions.push(session)
      }
    )
    this.connections.add(connection)
    return connection
  }
}
