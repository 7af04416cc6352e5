import type { SocketLike } from './socket.js'

/** A message: its type and its data. */
export interface Message {
  readonly t: string
  readonly d: any
}

const PIECE = 16384
const LONGEST = 2 ** 28 // of a message in pieces; servers send less

const SENT = 2 ** 24 + 2 ** 16 // bytes of UTF-8 that a server takes, with the envelope

/** Says why a server would close the connection rather than read `text`; '' if it would not. */
export function excess(text: string): string {
  if (text.length * 3 <= SENT) return ''
  const { length } = new TextEncoder().encode(text)
  return length > SENT ? `${length} bytes, and the server takes ${SENT}` : ''
}

/** The WebSocket messages that carry `text`: itself, or a count and its pieces. */
export function split(text: string): string[] {
  if (text.length <= PIECE) return [text]
  const pieces: string[] = []
  for (let at = 0; at < text.length; ) {
    let end = at + PIECE
    // A character of two units must not be cut, or it is lost on the way.
    if (/[\ud800-\udbff]/.test(text[end - 1] ?? '')) end--
    pieces.push(text.slice(at, end))
    at = end
  }
  return [String(pieces.length), ...pieces]
}

/** Sends `text` in as many messages as it takes. Returns how much more the socket then has to send. */
export function transmit(socket: SocketLike, text: string): number {
  const before = socket.bufferedAmount!
  for (const piece of split(text)) socket.send(piece)
  return socket.bufferedAmount! - before
}

/** Puts the messages made by `split` together again. */
export function joiner(deliver: (text: string) => void): (message: string) => void {
  let missing = 0
  let text = ''
  return message => {
    if (missing) {
      text += message
      if (text.length > LONGEST) throw new Error('too long')
      if (--missing) return
      message = text
      text = ''
    } else if (/^\d{1,6}$/.test(message)) {
      missing = Number(message)
      return
    }
    deliver(message)
  }
}
