import type { Core } from '../core/core.js'
import { type Answer, errorOf } from '../core/errors.js'
import { nodeFromJSON } from '../core/node.js'
import { wireQuery } from '../core/params.js'
import { formatPath } from '../core/path.js'
import type { Reply } from '../core/reply.js'
import { ask, supports } from './ask.js'
import { checked, type Database, storeOf } from './database.js'
import { type Batch, found, KeysOf, type Lookup } from './lookup.js'

/** One part of the answer to a `bg`: a value, a failure, or keys. */
type Part = Answer & { k?: string[]; v?: Record<string, unknown>; e?: Record<string, Answer> }

/**
 * Reads several places at once, in one state of the database: an update of another client
 * is there as a whole, or not at all. A path that the rules deny does not fail the others. Always asks the server; one without batch get is `UNSUPPORTED`.
 */
export async function getAll<const L extends readonly Lookup[]>(db: Database, lookups: L): Promise<Batch<L>> {
  const entries = lookups.map(lookup => {
    const { path, params } = checked(lookup instanceof KeysOf ? lookup.query : lookup)
    const [p, q] = [formatPath(path), wireQuery(params)]
    return lookup instanceof KeysOf ? { k: p, q, c: lookup.template } : { p, q }
  })
  const core = storeOf(db) as Core
  if (entries.some(({ q }) => q.w)) await supports(core, 'q')
  const { rev, v } = (await ask(core, 'b', 'bg', { g: entries })) as { rev: number; v: Part[] }
  const results = v.map((part, i) => found(db, lookups[i]!, replyOf(part)))
  return { revision: rev, results: results as Batch<L>['results'] }
}

function replyOf(part: Part): Reply {
  const { s, d, k, v = {}, e = {} } = part
  if (s) return { error: errorOf(part) }
  if (!k) return { node: nodeFromJSON(d) }
  return {
    keys: k.map(key => [key, nodeFromJSON(v[key] ?? null), e[key] && errorOf(e[key])])
  }
}
