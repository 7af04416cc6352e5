/** Milliseconds without a first connection after which there is a warning. */
export const LATE = 5000

/** Those of them in which a request finds out why. */
export const PROBE = 1000

/** Says something in the console that no caller may be there to hear. */
export const say = (text: string): void => console.warn(`dogwood: ${text}`)

/** The parts of a connection that tell how far it has come. */
export interface Attempt {
  readonly target: { readonly host: string; readonly secure: boolean }
  readonly state: string
  readonly socket?: unknown
  readonly problem?: string
  /** 0 before the first connection. */
  readonly connectedAt: number
}

/**
 * Says in the console that there is no connection yet, and why, as far as that can be
 * known: no runtime tells why a WebSocket failed, but most tell it of a request.
 */
export async function warn(connection: Attempt): Promise<void> {
  const { host, secure } = connection.target
  const url = `http${secure ? 's' : ''}://${host}`
  const abort = new AbortController()
  let why = 'it does not answer'
  void cause(url, abort.signal).then(text => {
    why = text
  })
  await new Promise(resolve => setTimeout(resolve, PROBE))
  abort.abort()
  const { state, socket, problem, connectedAt } = connection
  if (connectedAt || !/ing$/.test(state)) return
  const unsigned = state === 'connecting' && !socket
  say(`no connection to ${url} yet: ${problem || (unsigned ? 'the token is not there' : why)}`)
}

async function cause(url: string, signal: AbortSignal): Promise<string> {
  try {
    const answer = await fetch(`${url}/.ws`, { mode: 'no-cors', signal })
    const { status } = answer
    if (status === 400 && /HTTPS (server|port)/.test(await answer.text()))
      return 'it speaks TLS; use https://'
    // A server of WebSockets wants them to be asked for, with status 426.
    return `it answers HTTP${status ? ` (${status})` : ''}, but no WebSocket opens; is there a proxy that does not pass upgrades?`
  } catch (error) {
    const { cause, message } = error as Error
    const text = (cause as Error)?.message || message
    return /wrong version number|packet length too long/.test(text)
      ? 'it does not speak TLS; use http://'
      : text
  }
}
