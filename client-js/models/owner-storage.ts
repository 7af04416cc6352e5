// Owner storage: fields of players, guilds and whatever else games keep, marked for a
// program that lands them in SQL. The rules are those of testdata/models/owner-storage;
// docs/models/owner-storage.md explains them.

import {
  type Database,
  get,
  getAll,
  increment,
  limitToFirst,
  onValue,
  orderByValue,
  query,
  ref,
  remove,
  runTransaction,
  serverTimestamp,
  type Unsubscribe,
  update,
  updateReturning
} from '@dogwood/client'
import { read, retry } from './records.js'

/** What a field may hold. Bytes are kept as base64 text. */
export type Field = string | number | boolean

export type Fields = Record<string, Field>

/** The data of the model, by application and region. */
export interface StorageData {
  store: Record<string, Record<string, Record<string, Record<string, Fields>>>>
  deleted: Record<
    string,
    Record<string, Record<string, Record<string, Record<string, { value: Field; at: number }>>>>
  >
  dirty: Record<string, Record<string, Record<string, number>>>
}

/** A field that has changed since it was landed. */
export interface Dirty {
  logic: string
  owner: string
  key: string
  /** Null if it was removed. */
  value: Field | null
  /** When it was changed, in milliseconds since 1970. */
  at: number
}

/** What the rules want of the key of a mark. */
const MARK = /^([\w-]+):([\w-]+):([\w-]+)$/

/**
 * The storage of one application in one region, for a service whose token names both.
 * A player's own token can only read its fields.
 */
export class OwnerStorage {
  constructor(
    private readonly db: Database<StorageData>,
    private readonly app: string,
    private readonly region: string
  ) {}

  /** Some fields of an owner; null for those that are not there. */
  async getByFields<K extends string>(
    logic: string,
    owner: string,
    keys: readonly K[]
  ): Promise<Record<K, Field | null>> {
    const path = `${this.at('store', logic)}/${owner}`
    const fields = keys.map(key => ref<Field>(this.db, `${path}/${key}`))
    const { results } = await getAll(this.db, fields)
    const values = results.map(({ snapshot, error }, i) => {
      if (error) throw error
      return [keys[i], snapshot.val()]
    })
    return Object.fromEntries(values)
  }

  /** All fields of an owner. */
  async getAll(logic: string, owner: string): Promise<Fields> {
    return (await read(this.fields(logic, owner))) ?? {}
  }

  /** Sets fields. Those that were removed come back. */
  update(logic: string, owner: string, fields: Fields): Promise<void> {
    return update(ref(this.db), this.changes(logic, owner, fields))
  }

  /** Adds to numbers and returns what this has made of them. */
  async incr<K extends string>(
    logic: string,
    owner: string,
    deltas: Record<K, number>
  ): Promise<Record<K, number>> {
    const keys = Object.keys(deltas) as K[]
    const sums = Object.fromEntries(keys.map(key => [key, increment(deltas[key])]))
    const told = await updateReturning(ref(this.db), this.changes(logic, owner, sums))
    const at = `${this.at('store', logic)}/${owner}`
    return Object.fromEntries(keys.map(key => [key, told[`${at}/${key}`]])) as Record<K, number>
  }

  /**
   * Removes fields. Their last values are kept among the deleted; the rules refuse a
   * removal that would keep another value, so if one changes meanwhile, it starts again.
   */
  removeKeys(logic: string, owner: string, keys: readonly string[]): Promise<void> {
    return retry(
      () => this.getByFields(logic, owner, keys),
      values => {
        const changes: Record<string, unknown> = {}
        for (const key of keys.filter(key => values[key] !== null)) {
          changes[`${this.at('store', logic)}/${owner}/${key}`] = null
          changes[`${this.at('deleted', logic)}/${owner}/${key}`] = {
            value: values[key],
            at: serverTimestamp()
          }
          changes[this.mark(logic, owner, key)] = serverTimestamp()
        }
        return update(ref(this.db), changes)
      }
    )
  }

  /** Calls `next` with all fields of an owner now and after every change. */
  watch(logic: string, owner: string, next: (fields: Fields) => unknown): Unsubscribe {
    return onValue(this.fields(logic, owner), fields => next(fields.val() ?? {}))
  }

  /**
   * Gives `save` the fields that have waited for the longest, and takes away their marks
   * when it has saved them; not that of a field which has changed again meanwhile. Needs
   * the token of a landing program. Returns how many were saved.
   *
   * A mark that is of no field, which the rules let only administrators write, stops
   * nothing: it is taken away with the others, and then named in an error.
   */
  async land(save: (batch: Dirty[]) => Promise<void>, limit = 1000): Promise<number> {
    const marks = await get(query(ref(this.db, this.at('dirty')), orderByValue(), limitToFirst(limit)))
    const batch: Dirty[] = []
    const strays: string[] = []
    marks.forEach(mark => {
      const at: unknown = mark.val()
      const [, logic, owner, key] = MARK.exec(mark.key) ?? []
      if (logic && owner && key && typeof at === 'number') batch.push({ logic, owner, key, value: null, at })
      else strays.push(mark.key)
    })
    const places = batch.map(({ logic, owner, key }) =>
      ref<Field>(this.db, `${this.at('store', logic)}/${owner}/${key}`)
    )
    // A mark is a time in milliseconds: whatever is written after its field was read must
    // not have the same.
    await new Promise(resolve => setTimeout(resolve, 3))
    const { results } = await getAll(this.db, places)
    results.forEach(({ snapshot, error }, i) => {
      if (error) throw error
      batch[i]!.value = snapshot.val()
    })
    await save(batch)
    await Promise.all(
      batch.map(({ logic, owner, key, at }) =>
        runTransaction(ref<number>(this.db, this.mark(logic, owner, key)), now =>
          now === at || now === null ? null : undefined
        )
      )
    )
    await Promise.all(strays.map(key => remove(ref(this.db, `${this.at('dirty')}/${key}`))))
    if (strays.length > 0) throw new Error(`marks that are not of a field: ${strays.join(', ')}`)
    return batch.length
  }

  // changes returns the paths of a write of fields, each of which clears what the field
  // was when it was removed, and marks it as changed.
  private changes(logic: string, owner: string, fields: Record<string, unknown>) {
    const changes: Record<string, unknown> = {}
    for (const [key, value] of Object.entries(fields)) {
      changes[`${this.at('store', logic)}/${owner}/${key}`] = value
      changes[`${this.at('deleted', logic)}/${owner}/${key}`] = null
      changes[this.mark(logic, owner, key)] = serverTimestamp()
    }
    return changes
  }

  private fields(logic: string, owner: string) {
    return ref<Fields>(this.db, `${this.at('store', logic)}/${owner}`)
  }

  private mark(logic: string, owner: string, key: string): string {
    return `${this.at('dirty')}/${logic}:${owner}:${key}`
  }

  private at(...[top, ...below]: string[]): string {
    return [top, this.app, this.region, ...below].join('/')
  }
}
