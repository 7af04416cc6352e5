/** The part of a WebSocket that the client uses. */
export type SocketLike = {
  onopen: any
  onmessage: any
  onclose: any
  onerror: any
  send(text: string): void
  close(): void
  /** The bytes that it has not given to the network yet, if it knows. */
  readonly bufferedAmount?: number
}

/** A class of WebSockets, as browsers have it. */
export type SocketClass = new (url: string) => SocketLike
