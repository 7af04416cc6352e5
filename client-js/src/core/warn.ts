/** Milliseconds without a first connection after which there is a warning. */
export const LATE = 5000

/** The last part of that time, in which an HTTP request looks for the cause. */
export const PROBE = 1000

/** Warns in the console of something that no caller may be told of. */
export const say = (text: string): void => console.warn(`dogwood: ${text}`)

/** The state of a connection, as far as the warning needs it. */
export interface Attempt {
  readonly target: { readonly host: string; readonly secure: boolean }
  readonly state: string
  readonly socket?: unknown
  readonly problem?: string
  /** 0 before the first connection. */
  readonly connectedAt: number
}

/**
 * Warns in the console that there is no connection yet, with the cause if it can be found:
 * no runtime reports why a WebSocket failed, but most do for an HTTP request.
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
    if (status === 400 && wantsTLS(await answer.text())) return SPEAKS_TLS
    // A WebSocket server answers a plain request with status 426.
    return `it answers HTTP${status ? ` (${status})` : ''}, but no WebSocket opens; is there a proxy that does not pass upgrades?`
  } catch (error) {
    return causeOf(error as Error)
  }
}

export const SPEAKS_TLS = 'it speaks TLS; use https://'

/** Recognises what servers in Go and proxies with TLS answer to a client without it. */
export const wantsTLS = (text: string): boolean => /HTTPS (server|port)/.test(text)

/** Why a request failed, with what to do if TLS is the cause. */
export function causeOf({ cause, message }: Error): string {
  const text = (cause as Error)?.message || message
  return /wrong version number|packet length too long/.test(text)
    ? 'it does not speak TLS; use http://'
    : text
}
