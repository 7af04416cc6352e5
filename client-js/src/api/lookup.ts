import type { DogwoodError } from '../core/errors.js'
import { invalid } from '../core/errors.js'
import { EMPTY } from '../core/node.js'
import { parsePath } from '../core/path.js'
import type { Reply } from '../core/reply.js'
import { checkPath } from '../core/validate.js'
import { checked, type Database } from './database.js'
import { DatabaseReference, type Query } from './reference.js'
import { DataSnapshot } from './snapshot.js'

/** What `getAll` reads: a location, a query, or what `keysOf` makes of one. */
export type Lookup = Query | KeysOf

/** The keys of a query's children, and what each of them names elsewhere. */
export class KeysOf<T = any> {
  declare readonly valueType?: T

  /** @internal */
  constructor(
    /** @internal */
    readonly query: Query,
    /** @internal */
    readonly template: string
  ) {}
}

/**
 * Makes `getAll` read, for each child of `query`, what is at the path that its key
 * makes of `template`: `groups/$key/name` and the keys a and b, `groups/a/name` and
 * `groups/b/name`. The values of the children themselves are not read.
 */
export function keysOf<T = any>(query: Query, template: string): KeysOf<T> {
  if (!template.split('/').includes('$key')) invalid(`no $key in "${template}"`)
  checkPath(template.replaceAll('$key', 'key'), [])
  return new KeysOf(checked(query), template)
}

/** What was found for a location or a query. */
export interface Found<T = any> {
  /** Empty if nothing is there, and if there is an error. */
  readonly snapshot: DataSnapshot<T>
  /** Why it could not be read. The others are not affected. */
  readonly error?: DogwoodError
}

/** What was found for `keysOf`. */
export interface FoundEach<T = any> {
  /** By key, in the order of the query. */
  readonly each: ReadonlyMap<string, Found<T>>
  /** Why the keys could not be read. */
  readonly error?: DogwoodError
}

/** What `getAll` has read, in one state of the database. */
export interface Batch<L extends readonly Lookup[] = Lookup[]> {
  /** Which state. A later one is never smaller. */
  readonly revision: number
  /** In the order of what was asked for. */
  readonly results: {
    readonly [I in keyof L]: L[I] extends KeysOf<infer T>
      ? FoundEach<T>
      : L[I] extends Query<infer T>
        ? Found<T>
        : never
  }
}

/** The result of a lookup that was answered. */
export function found(
  db: Database,
  lookup: Lookup,
  { node = EMPTY, error, keys = [] }: Reply
): Found | FoundEach {
  if (!(lookup instanceof KeysOf)) {
    return { snapshot: new DataSnapshot(node, lookup.ref, lookup.params.index), error }
  }
  const path = parsePath(lookup.template)
  const each = keys.map(([key, node = EMPTY, error]) => {
    const ref = new DatabaseReference(
      db,
      path.map(part => (part === '$key' ? key : part))
    )
    return [key, { snapshot: new DataSnapshot(node, ref), error }] as const
  })
  return { each: new Map(each), error }
}
