import { invalid } from '../core/errors.js'
import { pushId } from '../core/pushid.js'
import type { ServerValue } from '../core/scalar.js'
import { checked } from './database.js'
import { child, type DatabaseReference } from './reference.js'
import type { Changes, ChangesAt, Children, Writable } from './types.js'

/** A new location, which is also a promise of its first write. */
export interface ThenableReference<T = any>
  extends DatabaseReference<T>,
    Pick<Promise<DatabaseReference<T>>, 'then' | 'catch'> {
  key: string
  parent: DatabaseReference
}

type PriorityValue = string | number | null

/** Replaces what is at a location; null deletes it. Resolves when the server has it. */
export function set<T>(ref: DatabaseReference<T>, value: Writable<T>): Promise<void> {
  return checked(ref).db.store.set(ref.path, value)
}

/** Replaces value and priority. */
export function setWithPriority<T>(
  ref: DatabaseReference<T>,
  value: Writable<T>,
  priority: PriorityValue
): Promise<void> {
  return checked(ref).db.store.set(ref.path, value, priority)
}

/** Replaces only the priority. */
export function setPriority(ref: DatabaseReference, priority: PriorityValue): Promise<void> {
  return checked(ref).db.store.set([...ref.path, '.priority'], priority)
}

/** Deletes what is at a location. */
export function remove(ref: DatabaseReference): Promise<void> {
  return set(ref, null)
}

/** Replaces several children, or deeper paths `a/b`, all or none of them. */
export function update<T, V extends object = Changes<T>>(
  ref: DatabaseReference<T>,
  values: V & ChangesAt<T, V>
): Promise<void> {
  return checked(ref).db.store.update(ref.path, values)
}

/** A child with a new key that sorts after all made before; writes `value` if given. */
export function push<T>(
  parent: DatabaseReference<T>,
  value?: Writable<Children<T>>
): ThenableReference<Children<T>> {
  const key = pushId(checked(parent).db.store.now())
  const ref = child(parent, key) as DatabaseReference
  const written = (value ?? null) === null ? Promise.resolve() : set(ref, value as Writable<any>)
  const promise = () => written.then(() => ref)
  return Object.assign(child(parent, key), {
    then: (resolve, reject) => promise().then(resolve, reject),
    catch: reject => promise().catch(reject)
  } as Pick<Promise<DatabaseReference>, 'then' | 'catch'>) as ThenableReference
}

/** Stands for the time when the server carries out the write. */
export const serverTimestamp = (): ServerValue => ({ '.sv': 'timestamp' })

/** Stands for the number that is there then, plus `delta`. */
export function increment(delta: number): ServerValue {
  if (!Number.isFinite(delta)) invalid('increment needs a finite number')
  return { '.sv': { increment: delta } }
}

/**
 * Stands for the larger one of `n` and the number that is there then; for `n` if there is none. So
 * writes may come in any order, and twice. Other servers than Dogwood refuse the write.
 */
export function max(n: number): ServerValue {
  if (!Number.isFinite(n)) invalid('max needs a finite number')
  return { '.sv': { max: n } }
}

/** Stands for the smaller one of `n` and the number that is there then, as `max` for the larger. */
export function min(n: number): ServerValue {
  if (!Number.isFinite(n)) invalid('min needs a finite number')
  return { '.sv': { min: n } }
}
