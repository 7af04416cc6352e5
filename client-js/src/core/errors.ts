/**
 * Every error of this package is a DogwoodError; switch on `code`. Only an argument that is
 * of another type than declared may be a TypeError.
 */
export class DogwoodError extends Error {
  override readonly name = 'DogwoodError'

  constructor(
    /** In capitals, as `PERMISSION_DENIED`. */
    readonly code: string,
    message: string,
    /** The rule that refused, as `/rooms/$room/.read`, if the server tells. */
    readonly rule?: string,
    /** The definition of declared data that refused a write, as `logins`. */
    readonly definition?: string
  ) {
    super(message)
  }
}

/** The answer of the server to a request. */
export interface Answer {
  readonly s: string
  readonly d?: unknown
  readonly rule?: string
  readonly def?: string
  /** To a write that the server may have had before: what came after it is not told again. */
  readonly again?: boolean
}

/**
 * The error for an answer that is not "ok"; `path` is that of what was asked for. Without
 * `operation` it was a listen, whose text is that of the official SDK.
 */
export function errorOf({ s, d, rule, def }: Answer, path?: string, operation?: string): DogwoodError {
  const code = s.toUpperCase()
  const placed = path && !isEnd.test(s)
  const text = placed && !operation ? `${s} at ${path}` : code
  const at = placed && operation ? ` (${operation} ${path})` : ''
  return new DogwoodError(code, (d && typeof d === 'string' ? `${text}: ${d}` : text) + at, rule, def)
}

/** What a server says, in the words of the protocol, when it does not have the database. */
export const noDatabase = /^Firebase error. Please ensure/

/** The answer for a database that the server does not have. */
export function missing({ host, namespace }: { host: string; namespace: string }): Answer {
  const d = namespace
    ? `is there a database "${namespace}" on ${host}? choose another with ?ns= in the URL`
    : `${host} has no default database; choose one with ?ns= in the URL`
  return { s: 'no_database', d }
}

/** Of the answers that a connection gives in the name of a server: what is on disk stays there. */
export const isEnd = /^(closed|no_database|refused|(invalid|expired)_token)$/i

/** Throws the error for a wrong argument. */
export function invalid(message: string): never {
  throw new DogwoodError('INVALID_ARGUMENT', message)
}
