import { DogwoodError, errorOf, invalid, missing } from '../core/errors.js'
import { nodeFromJSON } from '../core/node.js'
import { type Params, wireQuery } from '../core/params.js'
import { formatPath, type Path } from '../core/path.js'
import type { Priority } from '../core/scalar.js'
import type { Store } from '../core/store.js'
import type { Target } from '../core/target.js'
import { foreignKind } from '../core/validate.js'
import { originOf, SPEAKS_TLS, wantsTLS } from '../core/warn.js'
import { patient, Reply } from './reply.js'

/** A database over plain HTTP requests. */
export class RestStore implements Store {
  constructor(readonly target: Target) {}

  now(): number {
    return Date.now()
  }

  async set(path: Path, value: unknown, priority: Priority = null): Promise<void> {
    const body = priority === null ? value : nodeFromJSON(JSON.parse(encode(value)), priority).toJSON(true)
    await this.request('PUT', path, { query: { print: 'silent' }, body })
  }

  async update(path: Path, values: object): Promise<void> {
    await this.request('PATCH', path, { query: { print: 'silent' }, body: values })
  }

  /**
   * One request. Its failure is a DogwoodError, with the text of the server if
   * there is one. `abort` ends it. A server that does not say that it has heeded the parameters
   * which are extensions, or those in `needs`, is `UNSUPPORTED`: others ignore what they do not know.
   */
  async request(
    method: string,
    path: Path,
    options: {
      query?: Record<string, string>
      body?: unknown
      headers?: Record<string, string>
      abort?: AbortController
      needs?: readonly string[]
    }
  ): Promise<Reply> {
    const { target } = this
    const { namespace, token, maxBytes } = target
    const { abort = new AbortController() } = options
    const body = method === 'GET' ? undefined : encode(options.body)
    const send = async (refresh: boolean) => {
      const query = new URLSearchParams({ format: 'export', ...options.query })
      const headers: Record<string, string> = { ...options.headers }
      const credential = await token?.(refresh)
      if (namespace) query.set('ns', namespace)
      // Tokens of users go into the address, secrets into a header.
      if (credential?.split('.').length === 3) query.set('auth', credential)
      else if (credential) headers.authorization = `Bearer ${credential}`
      const url = `${originOf(target)}/${path.map(encodeURIComponent).join('/')}.json?${query}`
      return patient(fetch(url, { method, headers, signal: abort.signal, body }), abort, body?.length)
    }
    let head = await send(false)
    if (head.status === 401 && token) head = await send(true)
    const reply = new Reply(head, abort, maxBytes)
    if (!head.ok && ![304, 412].includes(head.status))
      throw await failure(reply, target, `${names[method]} ${formatPath(path)}`)
    const { query = {}, needs = extensions.filter(name => query[name]) } = options
    const has = head.headers.get('x-dogwood-extensions')?.split(', ') ?? []
    const lacks = needs.find(name => !has.includes(name))
    if (!lacks) return reply
    abort.abort() // what it answers is not what was asked for
    throw new DogwoodError('UNSUPPORTED', `UNSUPPORTED: the server does not have "${lacks}"`)
  }
}

// encode refuses what JSON has no words for. It would say null, or nothing, and that deletes.
function encode(body: unknown): string {
  try {
    return JSON.stringify(body, function (this: any, key, value) {
      const foreign = foreignKind(this[key]) // a Date is a text here already
      if (foreign) throw foreign
      if (Number.isFinite(value) || /^(boolean|object|string)$/.test(typeof value)) return value
      throw `${typeof value} at ${key}`
    })
  } catch (error) {
    invalid(`cannot write ${error}`)
  }
}

const extensions = ['where', 'changes', 'notify', 'children', 'readable']

// What the functions of this package call the requests.
const names: Record<string, string> = { GET: 'get', PUT: 'set', PATCH: 'update', POST: 'getAll' }

async function failure(reply: Reply, target: Target, operation: string): Promise<DogwoodError> {
  const { status, statusText } = reply.head
  const text = await reply.text().catch(() => '')
  if (status === 400 && wantsTLS(text)) return new DogwoodError('UNAVAILABLE', `UNAVAILABLE: ${SPEAKS_TLS}`)
  const { error, detail, definition } = parsed(text) ?? {}
  if (status === 404) return errorOf(missing(target))
  const why = typeof error === 'string' ? error : statusText || `${status}`
  const code =
    status === 401 || status === 403
      ? 'PERMISSION_DENIED'
      : status === 400
        ? codeOf(why)
        : status === 409
          ? 'CONFLICT'
          : status >= 500
            ? 'UNAVAILABLE'
            : `HTTP_${status}`
  return new DogwoodError(
    code,
    `${code}: ${why}${typeof detail === 'string' ? ` (${detail})` : ''} (${operation})`,
    undefined,
    definition
  )
}

// codeOf is the code that the realtime protocol has for a refusal with status 400.
function codeOf(why: string): string {
  if (/^Index not defined/.test(why)) return 'FAILED'
  return /exceeds the maximum size|\.limit|^Invalid data; (string|priorities) of/.test(why)
    ? 'TOO_BIG'
    : 'INVALID_PARAMETERS'
}

function parsed(text: string): any {
  try {
    return JSON.parse(text)
  } catch {}
}

/** The parameters of a read over HTTP. */
export function restQuery(p: Params): Record<string, string> {
  const wire = wireQuery(p)
  if (!Object.keys(wire).length) return {}
  const { id, paths } = p.index
  const query: Record<string, string> = { orderBy: JSON.stringify(paths ?? id.replace(/^\./, '$')) }
  for (const [name, open, bound] of [
    ['startAt', 'startAfter', p.start],
    ['endAt', 'endBefore', p.end]
  ] as const) {
    if (!bound) continue
    if (bound.key && bound.key[0] !== '[') invalid(`no second key over HTTP: ${name}`)
    query[bound.open ? open : name] = JSON.stringify(bound.value)
  }
  if (p.filter) query.where = p.filter.w
  if (p.filter?.wm) query.maxVisited = String(p.filter.wm)
  if (p.limit) query[p.last ? 'limitToLast' : 'limitToFirst'] = String(p.limit)
  return query
}
