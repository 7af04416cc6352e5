// What the models have in common.

import { type DataSnapshot, DogwoodError, get, type Query } from '@dogwood/client'

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

/** Reads once; null if nothing is there. */
export async function read<T>(query: Query<T>): Promise<T | null> {
  return (await get(query)).val()
}

/** Reports whether the rules have refused something. */
export const isDenied = (error: unknown): boolean =>
  error instanceof DogwoodError && error.code === 'PERMISSION_DENIED'

/** How often a write is made again that depends on what others change. */
const MAX_TRIES = 10

/**
 * Makes a write that rests on what was read before it. The rules refuse it if
 * somebody has changed that meanwhile; then it is made again from what is there
 * now. If nothing has changed, the refusal stands.
 */
export async function retry<Read, Result>(
  look: () => Promise<Read>,
  write: (read: Read) => Promise<Result>
): Promise<Result> {
  let before = await look()
  for (let tries = 1; ; tries++) {
    try {
      return await write(before)
    } catch (error) {
      const now = isDenied(error) && tries < MAX_TRIES ? await look() : before
      if (JSON.stringify(now) === JSON.stringify(before)) throw error
      before = now
    }
  }
}
