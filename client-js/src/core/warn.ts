import type { Connection } from './connection.js'

/** Milliseconds without a first connection after which there is a warning. */
export const LATE = 5000

/** Says something in the console that no caller may be there to hear. */
export const say = (text: string): void => console.warn(`dogwood: ${text}`)

/**
 * Says in the console that there is no connection yet, and why, as far as that can be
 * known: no runtime tells why a WebSocket failed, but most tell it of a request.
 */
export async function warn({ target, state, socket }: Connection): Promise<void> {
  const url = `http${target.secure ? 's' : ''}://${target.host}`
  say(`no connection to ${url} yet: ${await cause(url, state === 'connecting' && !socket)}`)
}

async function cause(url: string, unsigned: boolean): Promise<string> {
  if (unsigned) return 'the token is not there'
  try {
    const { status } = await fetch(`${url}/.ws`, { mode: 'no-cors', signal: AbortSignal.timeout(LATE) })
    // A server of WebSockets wants them to be asked for, with status 426.
    return `it answers HTTP${status ? ` (${status})` : ''}, but no WebSocket opens; is there a proxy that does not pass upgrades?`
  } catch (error) {
    const { cause, message } = error as Error
    return (cause as Error)?.message || message
  }
}
