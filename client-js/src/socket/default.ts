import type { SocketClass } from '../core/connection.js'

/** The WebSocket of the runtime. */
export const defaultSocket = (): SocketClass => globalThis.WebSocket
