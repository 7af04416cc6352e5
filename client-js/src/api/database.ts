import { invalid } from '../core/errors.js'
import type { SocketClass } from '../core/socket.js'
import type { Store } from '../core/store.js'
import type { Target, TokenProvider } from '../core/target.js'

/** Where a database is, and how to get there. */
export interface DatabaseOptions {
  /** `https://host[:port][?ns=namespace]`; `wss:` is another name for `https:`, and `ws:` for `http:`. */
  databaseURL?: string
  /** Signs in; see `signInWithToken`. */
  token?: TokenProvider
  /** For runtimes without a global WebSocket. */
  WebSocket?: SocketClass
  /**
   * Over HTTP: the length of an answer, or of an event of a stream, from which on it is
   * not read but fails with `TOO_BIG`. By default 256 MiB, which is what a message over a
   * WebSocket may have.
   */
  maxBytes?: number
}

/** An app of `firebase/app`, or anything of that form. */
export interface AppLike {
  readonly name?: string
  readonly options: DatabaseOptions & { readonly projectId?: string }
}

/** A database. `Schema` is the type of its root; references take theirs from it. */
export class Database<Schema = any> {
  readonly type = 'database'
  declare readonly schema?: Schema

  /** @internal */
  constructor(
    readonly app: AppLike,
    /** @internal */
    readonly store: Store,
    /** @internal */
    readonly key: readonly unknown[]
  ) {}
}

/** The store of a database; refuses what is none. */
export const storeOf = (db: Database): Store =>
  db?.store ?? invalid('expected a database, as getDatabase returns it')

/** The reference or query itself; refuses what is none. */
export function checked<Q extends { readonly db: Database }>(query: Q): Q {
  if (!query?.db) invalid('expected a reference or a query, as ref(db, path) returns it')
  return query
}

/** The provider of a token that an application signs in with; refuses what is none. */
export function providerOf(token: string | TokenProvider): TokenProvider {
  if (typeof token === 'function') return token
  if (token && typeof token === 'string') return () => token
  return invalid('expected a token, which is a string and not empty, or a function that returns one')
}

let databases: Database[] = []

/**
 * The database of an app, of options or at a URL; the same one for the same arguments. `begin` gets
 * one that is new.
 */
export function open(
  Kind: new (target: Target) => Store,
  from?: AppLike | DatabaseOptions | string,
  url?: string,
  begin?: (db: Database) => void
): Database {
  const known = databases.filter(({ store }) => store instanceof Kind)
  if (from === '') invalid('the database URL is empty')
  if (!from) return known.at(-1) ?? invalid('no database')
  const app: AppLike =
    typeof from === 'string'
      ? { options: { databaseURL: from } }
      : 'options' in from
        ? from
        : { options: from }
  const { options } = app
  const address = url ?? options.databaseURL ?? invalid('no databaseURL')
  let database = known.find(({ key }) => key[0] === from && key[1] === address)
  if (!database) {
    const target = { ...options, ...parseURL(address), token: options.token ?? tokensOf(app) }
    database = new Database(app, new Kind(target), [from, address])
    databases.push(database)
    begin?.(database)
  }
  return database
}

/** Makes `open` forget a database. */
export function forget(db: Database): void {
  databases = databases.filter(other => other !== db)
}

/** Reads a database URL; the namespace is in `ns`, or the first of three or more labels. */
function parseURL(address: string): Target {
  const { protocol, host, hostname, pathname, searchParams } = readURL(address)
  if (pathname !== '/')
    invalid(`${address}: a database URL has no path; use ref(db, '${decodePath(pathname)}')`)
  for (const name of searchParams.keys())
    if (name !== 'ns' && name.toLowerCase() === 'ns')
      invalid(`${address}: write ?ns= in lower case; it names the database`)
  const namespace = searchParams.get('ns') ?? /^([^.]+)\.[^.]+\.[^.]*[a-z]/i.exec(hostname)?.[1] ?? ''
  return { host, secure: /^(http|ws)s/.test(protocol), namespace }
}

// decodePath shows a path as `ref` takes it, or as it is.
function decodePath(pathname: string): string {
  try {
    return decodeURIComponent(pathname)
  } catch {
    return pathname
  }
}

/** Reads the URL of something in a database. */
export function readURL(address: string): URL {
  try {
    const url = new URL(address)
    if (/^(http|ws)s?:$/.test(url.protocol)) return url
  } catch {}
  const rest = `${address}`.replace(/^[^/]*\/\//, '')
  const scheme = /^(localhost|[\d.]+|\[.*\])(:|\/|$)/.test(rest) ? 'http' : 'https'
  if (/^(http|ws)s?:\/\//i.test(address)) invalid(`${address}: not a URL; is the host or the port wrong?`)
  return invalid(
    `${address}: a database URL begins with http:// or https://; did you mean ${scheme}://${rest}?`
  )
}

// tokensOf finds the sign-in of `firebase/auth`, if the app has it.
function tokensOf(app: AppLike): TokenProvider | undefined {
  const { container } = app as { container?: any }
  if (!container) return undefined
  return async refresh => {
    const auth = container.getProvider('auth-internal').getImmediate({ optional: true })
    return (await auth?.getToken(refresh))?.accessToken
  }
}
