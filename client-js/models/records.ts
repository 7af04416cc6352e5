// What the models have in common.

import {
  type Database,
  type DataSnapshot,
  DogwoodError,
  type Found,
  get,
  getAll,
  keysOf,
  limitToFirst,
  onValue,
  orderByKey,
  type Query,
  type QueryConstraint,
  query,
  ref,
  startAfter,
  values
} from '@dogwood/client'

/** A child with its key. */
export type Keyed<T> = T & { readonly key: string }

/** The children of a list, in the order of the query that it was read with. */
export function records<T extends object>(list: DataSnapshot): Keyed<T>[] {
  const found: Keyed<T>[] = []
  list.forEach(child => {
    found.push({ ...(child.val() as T), key: child.key })
  })
  return found
}

/** The keys of a node's children, in the order of the query that it was read with. */
export function keys(list: DataSnapshot): string[] {
  const found: string[] = []
  list.forEach(child => {
    found.push(child.key)
  })
  return found
}

/**
 * What each key of a list names elsewhere, in the order of the list: one round trip, and
 * one state of the database, for at most 10,000 keys. What is not there is left out.
 */
export async function joined<T>(db: Database, list: Query, template: string): Promise<Map<string, T>> {
  const { results } = await getAll(db, [keysOf<T>(list, template)])
  if (results[0].error) throw results[0].error
  return valuesOf(results[0].each)
}

/** How many keys of an index one request reads. */
const PAGE = 1000

/**
 * `joined` for an index of any length, in the order of its keys: one that others write to.
 * What a page has is one state of the database.
 */
export async function allJoined<T>(
  db: Database,
  index: Query,
  template: string,
  size = PAGE
): Promise<Map<string, T>> {
  const all = new Map<string, T>()
  for (let from: QueryConstraint[] = []; ; ) {
    const page = query(index, orderByKey(), ...from, limitToFirst(size))
    const { results } = await getAll(db, [page, keysOf<T>(page, template)])
    const [{ snapshot, error }, { each }] = results
    if (error) throw error
    for (const [key, value] of valuesOf(each)) all.set(key, value)
    const last = keys(snapshot)[size - 1]
    if (last === undefined) return all
    from = [startAfter(last)]
  }
}

/** The values of what `keysOf` has found. */
export function valuesOf<T>(each: ReadonlyMap<string, Found<T>>): Map<string, T> {
  const values = new Map<string, T>()
  for (const [key, { snapshot, error }] of each) {
    if (error) throw error
    if (snapshot.exists()) values.set(key, snapshot.val()!)
  }
  return values
}

/** Records with their keys. */
export const keyed = <T extends object>(map: ReadonlyMap<string, T>): Keyed<T>[] =>
  Array.from(map, ([key, value]) => ({ ...value, key }))

/** The time by the clock of the server, once it is known, in milliseconds since 1970. */
export async function serverTime(db: Database): Promise<number> {
  for await (const connected of values(ref<boolean>(db, '.info/connected'))) if (connected.val()) break
  const place = ref<number>(db, '.info/serverTimeOffset')
  return new Promise((resolve, reject) =>
    onValue(place, offset => resolve(Date.now() + offset.val()!), reject, { onlyOnce: true })
  )
}

/** Calls what a user has passed. What it throws is reported as for a listener, and stops nothing. */
export function guard(f: () => unknown): void {
  try {
    f()
  } catch (error) {
    setTimeout(() => {
      throw error
    })
  }
}

/** Reads once; null if nothing is there. */
export async function read<T>(query: Query<T>): Promise<T | null> {
  return (await get(query)).val()
}

/** Reads queries in one state of the server, without what is on its way there. */
export async function stored(db: Database, ...queries: Query[]): Promise<DataSnapshot[]> {
  const { results } = await getAll(db, queries)
  return results.map(({ snapshot, error }) => {
    if (error) throw error
    return snapshot
  })
}

/** Reports whether the rules or declared data have refused something. */
export const isDenied = (error: unknown): boolean =>
  error instanceof DogwoodError && /^(PERMISSION_DENIED|CONFLICT)$/.test(error.code)

/** Reports whether a transaction gave way to a write of this client to the same place. */
export const isOverwritten = (error: unknown): boolean =>
  error instanceof DogwoodError && error.code === 'SET'

/** How often a write is made that depends on what others change. */
const MAX_TRIES = 100

/**
 * Makes a write that rests on what was read before it. If the rules refuse it, and what was
 * read is another thing by now, it is made again: that is how a write loses a race. One
 * that is refused twice for the same thing is not allowed.
 */
export async function retry<Read, Result>(
  look: () => Promise<Read>,
  write: (read: Read) => Promise<Result>
): Promise<Result> {
  let before: string | undefined
  for (let tries = 1; ; tries++) {
    const read = await look()
    const now = JSON.stringify(read)
    try {
      return await write(read)
    } catch (error) {
      if (!isDenied(error) || now === before || tries === MAX_TRIES) throw error
      before = now
    }
  }
}
