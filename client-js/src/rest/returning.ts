import { checked } from '../api/database.js'
import type { DatabaseReference } from '../api/reference.js'
import type { Resolved } from '../api/returning.js'
import type { Changes, Writable } from '../api/types.js'
import { type Node, nodeFromJSON } from '../core/node.js'
import { type Path, parsePath } from '../core/path.js'
import { checkUpdate, checkValue } from '../core/validate.js'
import type { RestStore } from './store.js'

/**
 * Writes as `set` does, and returns its resolved server values: of a hundred
 * clients that add 1 at the same time, each gets another sum. A sum is left out for callers
 * that may not read it, and so are server values of priorities.
 */
export async function setReturning<T>(ref: DatabaseReference<T>, value: Writable<T>): Promise<Resolved> {
  const { db, path } = checked(ref)
  checkValue(value, path)
  const reply = await (db.store as RestStore).request('PUT', path, { body: value })
  return Object.fromEntries(resolved(nodeFromJSON(value), nodeFromJSON(await reply.json()), []))
}

/** Writes as `update` does, and returns its resolved server values. */
export async function updateReturning<T>(ref: DatabaseReference<T>, values: Changes<T>): Promise<Resolved> {
  const { db, path } = checked(ref)
  if (!checkUpdate(values, path).length) return {}
  const reply = await (db.store as RestStore).request('PATCH', path, { body: values })
  const answer = await reply.json()
  const all = Object.entries(values).flatMap(([key, value]) => {
    const at = parsePath(key)
    return resolved(nodeFromJSON(value), nodeFromJSON(answer[at.join('/')]), at)
  })
  return Object.fromEntries(all)
}

// resolved finds the server values of what was written, and what they are in the answer.
function resolved(written: Node, answer: Node, at: Path): [path: string, value: number][] {
  const own = typeof written.value === 'object' && written.value && typeof answer.value === 'number'
  const below = written.kids.flatMap(([key, kid]) => resolved(kid, answer.child(key), [...at, key]))
  return own ? [[at.join('/'), answer.value as number]] : below
}
