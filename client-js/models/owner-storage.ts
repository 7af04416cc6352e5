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
  orderByKey,
  query,
  ref,
  serverTimestamp,
  startAfter,
  type Unsubscribe,
  update,
  updateReturning
} from '@dogwood/client'
import { errors, type Field, land, marks, rowOf, type Save } from './landing.js'
import type { LeaseRecord } from './lease.js'
import { keys, read, retry, stored } from './records.js'

export { type Dirty, type Field, LandingError, type Refused, type Save } from './landing.js'
export { HeldError, LeaseLostError, type LeaseRecord } from './lease.js'

export type Fields = Record<string, Field>

/** The data of the model, by application and region. */
export interface StorageData {
  store: Record<string, Record<string, Record<string, Record<string, Fields>>>>
  deleted: Record<
    string,
    Record<string, Record<string, Record<string, Record<string, { value: Field; at: number }>>>>
  >
  dirty: Record<string, Record<string, Record<string, number>>>
  landing: Record<string, Record<string, LeaseRecord>>
  error: Record<string, Record<string, Record<string, StoredFailure>>>
  /** The numbers of fields. Kept by a server with the data document of the model. */
  owners: Record<string, Record<string, Record<string, Record<string, number>>>>
  /** Kept by a server with the data document of the model. Absent is 0. */
  backlog: Record<string, Record<string, Partial<Backlog>>>
}

/** How much the landing has to do. */
export interface Backlog {
  /** Fields that have changed since they were landed. */
  waiting: number
  /** Rows that SQL has refused, which `replay` tries again. */
  refused: number
}

/** What is kept of a row that SQL has refused. */
export interface StoredFailure {
  /** What `save` threw, shortened. */
  reason: string
  /** When it was refused the last time, in milliseconds since 1970. */
  at: number
  /** How often it was refused. */
  tries: number
  /** The time of the change that was refused. */
  changed: number
  version: number
}

/** A field that SQL has refused; it is not landed again before it changes or is replayed. */
export interface Failure extends StoredFailure {
  logic: string
  owner: string
  key: string
}

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

  /**
   * The owners of a kind that have fields, with the numbers of these, in the order of their
   * keys: some of those behind `after`. None of their fields is read. Only a server that has the
   * data document of the model lists them.
   */
  async owners(logic: string, after?: string, count = 1000): Promise<Map<string, number>> {
    const list = ref<Record<string, number>>(this.db, this.at('owners', logic))
    const from = after === undefined ? [] : [startAfter(after)]
    const found = await get(query(list, orderByKey(), ...from, limitToFirst(count)))
    return new Map(keys(found).map(key => [key, found.child(key).val() as number]))
  }

  /**
   * Calls `next` with how much the landing has to do, now and after every change. Only a server
   * that has the data document of the model counts it. `cancel` hears if it cannot be read.
   */
  watchBacklog(next: (backlog: Backlog) => unknown, cancel?: (error: Error) => unknown): Unsubscribe {
    const place = ref<Partial<Backlog>>(this.db, this.at('backlog'))
    return onValue(place, found => next({ waiting: 0, refused: 0, ...found.val() }), cancel)
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
   * One lander works at a time. It throws a `HeldError` if another one holds the lease, and
   * a `LeaseLostError` if another one took over because this one was stalled. `save` may
   * then have been late, so SQL must keep the row with the greater `version`.
   *
   * If `save` fails, its rows are saved one by one. Those that fail alone while others do
   * not are moved to the errors, and named by a `LandingError`. If all fail, nothing is
   * moved: SQL is down.
   *
   * A mark that is of no field, which the rules let only administrators write, stops
   * nothing: it is taken away with the others, and then named in an error.
   */
  land(save: Save, limit = 1000): Promise<number> {
    return land(this.db as Database, this.at(), marks, save, limit)
  }

  /** The fields that SQL has refused, first those that have waited for the longest. */
  async failed(limit = 1000): Promise<Failure[]> {
    const [found] = await stored(this.db, errors.query(this.db as Database, this.at(), limitToFirst(limit)))
    const list: Failure[] = []
    found!.forEach(child => {
      const row = rowOf(child.key, 0)
      if (!row) throw new Error(`the error record ${child.key} is not of a field`)
      const { logic, owner, key } = row
      list.push({ logic, owner, key, ...(child.val() as StoredFailure) })
    })
    return list
  }

  /**
   * Gives `save` the fields that SQL has refused, as they are now, and forgets that those
   * were refused which it saves. It is `land` in all else: it needs the lease, and throws
   * if rows are refused again.
   */
  replay(save: Save, limit = 1000): Promise<number> {
    return land(this.db as Database, this.at(), errors, save, limit)
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

  private at(top?: string, ...below: string[]): string {
    return [...(top ? [top] : []), this.app, this.region, ...below].join('/')
  }
}
