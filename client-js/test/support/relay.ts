// A network between a client and the server, which the test can take away.

import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

export class Relay {
  private readonly server: Server
  private readonly sockets = new Set<Socket>()
  private state: 'whole' | 'mute' | 'cut' = 'whole'
  private left = Number.POSITIVE_INFINITY
  /** Bytes that the server has sent. */
  answered = 0

  constructor(target: number) {
    this.server = createServer(client => {
      if (this.state === 'cut') {
        client.destroy()
        return
      }
      const upstream = connect(target, '127.0.0.1')
      for (const socket of [client, upstream]) {
        this.sockets.add(socket)
        const other = socket === client ? upstream : client
        socket.on('error', () => {})
        socket.on('close', () => {
          this.sockets.delete(socket)
          other.destroy()
        })
      }
      client.on('data', data => void upstream.write(data))
      upstream.on('data', data => {
        if (this.state !== 'whole') return
        client.write(data.subarray(0, this.left))
        this.answered += data.length
        this.left -= data.length
        if (this.left > 0) return
        this.left = Number.POSITIVE_INFINITY
        client.end(() => client.destroy())
      })
    })
  }

  async start(): Promise<this> {
    await new Promise<void>(resolve => this.server.listen(0, '127.0.0.1', resolve))
    return this
  }

  get host(): string {
    return `127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }

  /** From now on the server hears the client, and not the other way round. */
  mute(): void {
    this.state = 'mute'
  }

  /** The connection that carries so many more bytes of the server ends behind them. */
  breakAfter(bytes: number): void {
    this.left = bytes
  }

  /** Ends all connections and refuses new ones. */
  cut(): void {
    this.state = 'cut'
    for (const socket of this.sockets) socket.destroy()
  }

  mend(): void {
    this.state = 'whole'
  }

  stop(): void {
    this.cut()
    this.server.close()
  }
}
