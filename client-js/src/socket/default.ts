import type { SocketClass } from '../core/socket.js'

/** The WebSocket of the runtime. */
export const defaultSocket = (): SocketClass => globalThis.WebSocket
