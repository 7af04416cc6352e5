import { checked, type Database, storeOf } from '../api/database.js'
import { type Batch, found, KeysOf, type Lookup } from '../api/lookup.js'
import { DogwoodError } from '../core/errors.js'
import { nodeFromJSON } from '../core/node.js'
import type { Params } from '../core/params.js'
import { formatPath } from '../core/path.js'
import type { Reply } from '../core/reply.js'
import { type RestStore, restQuery } from './store.js'

/** One part of the answer: a value, a failure, or keys. */
type Part = {
  value?: unknown
  error?: string
  code?: string
  keys?: string[]
  values?: Record<string, unknown>
  errors?: Record<string, string>
}

/**
 * Reads several places at once, in one state of the database: an update of another client
 * is there as a whole, or not at all. A path that the rules deny does not fail the others. Bounds of queries cannot have second keys here.
 */
export async function getAll<const L extends readonly Lookup[]>(db: Database, lookups: L): Promise<Batch<L>> {
  const entries = lookups.map(lookup =>
    lookup instanceof KeysOf
      ? { keys: formatPath(lookup.query.path), child: lookup.template, ...bounds(lookup.query.params) }
      : { path: formatPath(checked(lookup).path), ...bounds(lookup.params) }
  )
  const needs = entries.some(entry => 'where' in entry) ? ['where'] : []
  const reply = await (storeOf(db) as RestStore).request('POST', ['.batch'], {
    body: { get: entries },
    needs
  })
  const { revision, results } = (await reply.json()) as { revision: number; results: Part[] }
  return {
    revision,
    results: results.map((part, i) => found(db, lookups[i]!, replyOf(part))) as Batch<L>['results']
  }
}

// bounds returns a query as members of an entry, which are JSON.
function bounds(params: Params): Record<string, unknown> {
  const members = Object.entries(restQuery(params))
  return Object.fromEntries(
    members.map(([name, value]) => [name, name === 'where' ? value : JSON.parse(value)])
  )
}

function replyOf({ value, error, code, keys, values = {}, errors = {} }: Part): Reply {
  if (error !== undefined) return { error: failed(error, code) }
  if (!keys) return { node: nodeFromJSON(value) }
  return {
    keys: keys.map(key => {
      const text = errors[key]
      return [key, nodeFromJSON(values[key] ?? null), text === undefined ? undefined : failed(text)]
    })
  }
}

// The failure of one key is told by its text alone.
function failed(text: string, status = text.replace(/ /g, '_')): DogwoodError {
  const code = status.toUpperCase()
  return new DogwoodError(code, `${code}: ${text}`)
}
