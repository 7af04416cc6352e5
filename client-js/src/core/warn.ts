import { formatPath, type Path } from './path.js'

/** Milliseconds without a first connection after which there is a warning. */
export const LATE = 5000

/** The last part of that time, in which an HTTP request looks for the cause. */
export const PROBE = 1000

/** Warns in the console of something that no caller may be told of. */
export const say = (text: string): void => console.warn(`dogwood: ${text}`)

const MAX_TOLD = 100
const unindexed = new WeakMap<object, Set<string>>()

/**
 * Warns once of each query of which the server says that it has no index: it reads every child of
 * the path. Each database, by its target, has so many of these warnings at most.
 */
export function warnIndex(target: object, query: { path: Path; query?: object }, answer: unknown): void {
  if (!`${(answer as { w?: unknown } | undefined)?.w}`.includes('no_index')) return
  const at = formatPath(query.path)
  const { i = '.priority' } = query.query as { i?: string }
  const text = `a query at ${at} has no index, so the server reads every child; add ".indexOn": "${i}" there to the rules`
  const told = unindexed.get(target) ?? new Set()
  if (told.has(text) || told.size >= MAX_TOLD) return
  say(text)
  unindexed.set(target, told.add(text))
}

/** The state of a connection, as far as the warning needs it. */
export interface Attempt {
  readonly target: { readonly host: string; readonly secure: boolean }
  readonly state: string
  readonly socket?: unknown
  readonly problem?: string
  /** 0 before the first connection. */
  readonly connectedAt: number
}

/** The address of a server. */
export const originOf = ({ host, secure }: Attempt['target']): string => `http${secure ? 's' : ''}://${host}`

/**
 * Warns in the console that there is no connection yet, with the cause if it can be found:
 * no runtime reports why a WebSocket failed, but most do for an HTTP request.
 */
export async function warn(connection: Attempt): Promise<void> {
  const url = originOf(connection.target)
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
  sayLate(url, problem || (unsigned ? 'the token is not there' : why))
}

/** Warns in the console that there is no connection yet. */
export const sayLate = (url: string, why: string): void => say(`no connection to ${url} yet: ${why}`)

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
