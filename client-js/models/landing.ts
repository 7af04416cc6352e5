// The landing of owner-storage.ts: what a lander reads and saves while it holds the lease.

import {
  type Database,
  increment,
  limitToFirst,
  limitToLast,
  orderByChild,
  orderByValue,
  type Query,
  type QueryConstraint,
  query,
  ref,
  serverTimestamp
} from '@dogwood/client'
import { Lease, type Step } from './lease.js'
import { stored } from './records.js'

/** What a field may hold. Bytes are kept as base64 text. */
export type Field = string | number | boolean

/** A field that has changed since it was landed. */
export interface Dirty {
  logic: string
  owner: string
  key: string
  /** If it was removed, the last one. */
  value: Field | null
  /** It was removed. */
  deleted: boolean
  /** When it was changed, in milliseconds since 1970. */
  at: number
  /**
   * It grows with every call of `land` and `replay`. SQL must not replace a row by one with
   * a smaller version: a stalled lander may save it late.
   */
  version: number
}

/** What takes rows to SQL. */
export type Save = (batch: Dirty[]) => Promise<void>

/** A row that SQL has refused, while it accepted others. */
export interface Refused {
  row: Dirty
  error: unknown
}

/** A landing that could not do all: what it has done is done. */
export class LandingError extends Error {
  override readonly name = 'LandingError'
  constructor(
    message: string,
    /** How many rows were saved. */
    readonly landed: number,
    /** The rows that were moved to the errors. */
    readonly refused: readonly Refused[],
    options?: ErrorOptions
  ) {
    super(message, options)
  }
}

/** What the rules want of the key of a mark. */
const MARK = /^([\w-]+):([\w-]+):([\w-]+)$/

/** How many of the newest rows are tried if none of the oldest can be saved. */
const PROBES = 10

/** How many characters of an error are kept. */
const MAX_REASON = 500

const keyOf = ({ logic, owner, key }: Dirty): string => `${logic}:${owner}:${key}`

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** The row of a primary key, still without a value. */
export function rowOf(pk: string, at: number): Dirty | undefined {
  const [, logic, owner, key] = MARK.exec(pk) ?? []
  if (!logic || !owner || !key) return undefined
  return { logic, owner, key, value: null, deleted: false, at, version: 0 }
}

/** Where a landing finds its rows: the marks, or the errors. */
interface Source {
  query(db: Database, at: string, constraint: QueryConstraint): Query
  /** The row of a child; undefined if it is of no field. */
  row(pk: string, value: any): Dirty | undefined
  /** What is done for a row, or for what is none; with an error if SQL has refused it. */
  step(at: string, pk: string, value: any, refused?: Refused): Step
}

const record = ({ row, error }: Refused) => ({
  reason: textOf(error).slice(0, MAX_REASON) || 'no text',
  at: serverTimestamp(),
  tries: increment(1),
  changed: row.at,
  version: row.version
})

const errorPath = (at: string, pk: string) => `error/${at}/${pk}`

export const marks: Source = {
  query: (db, at, constraint) => query(ref(db, `dirty/${at}`), orderByValue(), constraint),
  row: (pk, value) => (typeof value === 'number' ? rowOf(pk, value) : undefined),
  step(at, pk, value, refused) {
    const set: Record<string, unknown> = { [`dirty/${at}/${pk}`]: null }
    if (refused) set[errorPath(at, pk)] = record(refused)
    // Of what has children, which is no mark, the rules want no value.
    return { key: pk, was: typeof value === 'object' ? true : value, set }
  }
}

export const errors: Source = {
  query: (db, at, constraint) => query(ref(db, `error/${at}`), orderByChild('at'), constraint),
  row: (pk, value) => rowOf(pk, value?.changed ?? 0),
  step: (at, pk, _, refused) => ({ key: pk, set: { [errorPath(at, pk)]: refused ? record(refused) : null } })
}

/** Saves what a source has, `limit` rows at most, while it holds the lease. */
export async function land(db: Database, at: string, source: Source, save: Save, limit: number) {
  const [waiting] = await stored(db, source.query(db, at, limitToFirst(1)))
  if (!waiting!.exists()) return 0
  const lease = await Lease.take(db, at)
  try {
    return await new Landing(db, at, source, save, lease).run(limit)
  } finally {
    await lease.release()
  }
}

class Landing {
  private readonly read = new Map<string, unknown>()
  private readonly strays: string[] = []
  private readonly saved: Dirty[] = []
  private readonly refused: Refused[] = []
  /** Refused, and nothing was saved since: SQL may be down. */
  private suspects: Refused[] = []

  constructor(
    private readonly db: Database,
    private readonly at: string,
    private readonly source: Source,
    private readonly save: Save,
    private readonly lease: Lease
  ) {}

  async run(limit: number): Promise<number> {
    const rows = await this.rows(limitToFirst(limit))
    const outage = rows.length > 0 ? await this.saveAll(rows) : undefined
    if (!outage || this.saved.length > 0) await this.lease.finish(this.steps())
    if (outage) throw outage.error
    const problems = this.refused.map(
      ({ row, error }) => `the row ${keyOf(row)} was refused: ${textOf(error)}`
    )
    if (this.strays.length > 0) problems.push(`marks that are not of a field: ${this.strays.join(', ')}`)
    if (problems.length > 0) throw new LandingError(problems.join('; '), this.saved.length, this.refused)
    return this.saved.length
  }

  // Reads what was not read yet, and then the fields.
  private async rows(constraint: QueryConstraint): Promise<Dirty[]> {
    const [found] = await stored(this.db, this.source.query(this.db, this.at, constraint))
    const rows: Dirty[] = []
    found!.forEach(child => {
      if (this.read.has(child.key)) return
      this.read.set(child.key, child.val())
      const row = this.source.row(child.key, child.val())
      if (row) rows.push({ ...row, version: this.lease.version })
      else if (this.source === marks) this.strays.push(child.key)
    })
    // A mark is a time in milliseconds: whatever is written after its field was read must
    // not have the same.
    await new Promise(resolve => setTimeout(resolve, 3))
    await this.fill(rows)
    return rows
  }

  private async fill(rows: Dirty[]): Promise<void> {
    for (let i = 0; i < rows.length; i += 500) {
      const part = rows.slice(i, i + 500)
      const field = (r: Dirty) => `${this.at}/${r.logic}/${r.owner}/${r.key}`
      const places = part.flatMap(r => [`store/${field(r)}`, `deleted/${field(r)}/value`])
      const found = await stored(this.db, ...places.map(path => ref(this.db, path)))
      part.forEach((row, j) => {
        row.deleted = !found[2 * j]!.exists()
        row.value = found[2 * j + (row.deleted ? 1 : 0)]!.val() as Field | null
      })
    }
  }

  // Saves rows at once, or one by one if that fails. Returns the error of an outage, in
  // which no row is to blame.
  private async saveAll(rows: Dirty[]): Promise<{ error: unknown } | undefined> {
    const first = await this.try(rows)
    if (!first) {
      this.saved.push(...rows)
      return undefined
    }
    if (rows.length === 1) this.suspects.push({ row: rows[0]!, error: first.error })
    else await this.each(rows)
    // If no row can be saved, the newest tell bad rows from an outage.
    if (this.saved.length === 0) await this.each(await this.rows(limitToLast(PROBES)), 1)
    if (this.suspects.length === 0) return undefined
    if (this.saved.length === 0) return first
    // The last ones were refused. If a saved row can be saved again, SQL is there.
    const outage = await this.try(this.saved.slice(-1))
    if (!outage) this.blame()
    return outage
  }

  private async each(rows: Dirty[], most = Number.POSITIVE_INFINITY): Promise<void> {
    for (const row of rows) {
      const failed = await this.try([row])
      if (failed) this.suspects.push({ row, error: failed.error })
      else {
        this.saved.push(row)
        this.blame()
      }
      if (this.saved.length >= most) return
    }
  }

  private blame(): void {
    this.refused.push(...this.suspects)
    this.suspects = []
  }

  private async try(rows: Dirty[]): Promise<{ error: unknown } | undefined> {
    try {
      await this.lease.during(() => this.save(rows))
      return undefined
    } catch (error) {
      return { error }
    }
  }

  private steps(): Step[] {
    const step = (pk: string, refused?: Refused) => this.source.step(this.at, pk, this.read.get(pk), refused)
    return [
      ...this.saved.map(row => step(keyOf(row))),
      ...this.refused.map(refused => step(keyOf(refused.row), refused)),
      ...this.strays.map(pk => step(pk))
    ]
  }
}
