/** The part of a database that is on disk: saved views and unanswered writes. */

import { DogwoodError } from '../core/errors.js'
import { parsePath } from '../core/path.js'
import { checkUpdate, checkValue } from '../core/validate.js'

const VIEWS = 'views'
const WRITES = 'writes'

// Records are arrays, because the build shortens the names of members.

/** Export form JSON, its size, and when it was used last. */
export type ViewRecord = [text: string, size: number, used: number]

/** The action of a record that only notes that a transaction is running, and where. */
export const TRANSACTION = 't'

/** What a view counts for. The disk also keeps its key, and more of each record, however small. */
export const sizeOf = (key: string, text: string): number => key.length + text.length + 100

/**
 * When it was made, the action of the protocol or TRANSACTION, the body as JSON, and whether it was made
 * with a credential.
 */
export type WriteRecord = [time: number, action: string, body: string, signed?: boolean]

/** The tab or process that made a write, and its number there. */
export type WriteKey = [client: string, n: number]

/** Writes that are saved in one IndexedDB transaction. */
interface Batch {
  readonly store: IDBObjectStore
  readonly done: Promise<void>
}

export class Storage {
  private batch?: Batch // of this task

  private constructor(
    private readonly db: IDBDatabase,
    /** Called for records that cannot be read and for data that cannot be saved. */
    readonly report: (error: DogwoodError) => void
  ) {}

  /** Rejects with `NO_STORAGE` if the browser, or an existing database of this name, prevents it. */
  static async open(
    factory: IDBFactory,
    name: string,
    report: (error: DogwoodError) => void
  ): Promise<Storage> {
    try {
      const request = factory.open(name, 1)
      request.onupgradeneeded = () => {
        request.result.createObjectStore(VIEWS)
        request.result.createObjectStore(WRITES)
      }
      const db = await result(request)
      // Another tab wants to delete or upgrade the database. Do not block it.
      db.onversionchange = () => db.close()
      db.transaction([VIEWS, WRITES]) // fails if another program has made the database
      return new Storage(db, report)
    } catch (error) {
      throw new DogwoodError('NO_STORAGE', `IndexedDB cannot be used: ${error}`)
    }
  }

  close(): void {
    this.db.close()
  }

  async view(key: string): Promise<ViewRecord | undefined> {
    const record = await result(this.store(VIEWS, 'readonly').get(key))
    return isView(key, record) ? record : undefined
  }

  /** Deletes everything. */
  async clear(): Promise<void> {
    const transaction = this.db.transaction([VIEWS, WRITES], 'readwrite')
    transaction.objectStore(VIEWS).clear()
    transaction.objectStore(WRITES).clear()
    await finished(transaction)
  }

  /** The size and last use of each view. */
  async sizes(): Promise<Map<string, [size: number, used: number]>> {
    const sizes = new Map<string, [number, number]>()
    await this.visit(VIEWS, (key, record) => {
      if (!isView(key, record)) return false
      sizes.set(key as string, [sizeOf(key as string, record[0]), record[2]]) // earlier versions counted less
      return true
    })
    return sizes
  }

  /** Deletes a view that cannot be read. */
  async discardView(key: string): Promise<void> {
    await this.discard(VIEWS, [key])
  }

  /** Saves and deletes views, all or none. */
  async saveViews(saved: ReadonlyMap<string, ViewRecord>, deleted: readonly string[]): Promise<void> {
    const store = this.store(VIEWS, 'readwrite')
    for (const [key, record] of saved) store.put(record, key)
    for (const key of deleted) store.delete(key)
    await finished(store.transaction)
  }

  /**
   * Saves a write. All writes of one task share a transaction, which is committed before the
   * task ends. So they are saved even if the page is closed right after it.
   */
  async addWrite(key: WriteKey, record: WriteRecord): Promise<void> {
    const { store, done } = this.batch ?? this.begin()
    store.put(record, key)
    await done
  }

  private begin(): Batch {
    const store = this.store(WRITES, 'readwrite', 'strict')
    const { transaction } = store
    const batch = { store, done: finished(transaction) }
    this.batch = batch
    queueMicrotask(() => {
      this.batch = undefined
      transaction.commit()
    })
    return batch
  }

  async deleteWrite(key: WriteKey): Promise<void> {
    const store = this.store(WRITES, 'readwrite')
    store.delete(key)
    await finished(store.transaction)
  }

  /** All writes, in the order in which each client made them. */
  async writes(): Promise<[WriteKey, WriteRecord][]> {
    const writes: [WriteKey, WriteRecord][] = []
    await this.visit(WRITES, (key, record) => {
      if (!isWrite(key, record)) return false
      writes.push([key as WriteKey, record])
      return true
    })
    return writes
  }

  // visit deletes the records that `read` does not accept, so that they do not prevent the use
  // of the others.
  private async visit(name: string, read: (key: unknown, record: unknown) => boolean): Promise<void> {
    const broken: IDBValidKey[] = []
    await each(this.store(name, 'readonly').openCursor(), cursor => {
      if (!read(cursor.key, cursor.value)) broken.push(cursor.key)
    })
    if (broken.length) await this.discard(name, broken)
  }

  private async discard(name: string, keys: readonly IDBValidKey[]): Promise<void> {
    this.report(new DogwoodError('UNREADABLE', `${keys.length} of the saved ${name} cannot be read`))
    const store = this.store(name, 'readwrite')
    for (const key of keys) store.delete(key)
    await finished(store.transaction).catch(() => {}) // if that fails, the next start finds them again
  }

  private store(
    name: string,
    mode: IDBTransactionMode,
    durability: IDBTransactionDurability = 'default'
  ): IDBObjectStore {
    return this.db.transaction(name, mode, { durability }).objectStore(name)
  }
}

function isView(key: unknown, record: unknown): record is ViewRecord {
  if (typeof key !== 'string' || !Array.isArray(record)) return false
  const [text, size, used] = record
  return typeof text === 'string' && Number.isFinite(size) && Number.isFinite(used)
}

function isWrite(key: unknown, record: unknown): record is WriteRecord {
  if (!Array.isArray(key) || !Array.isArray(record)) return false
  const [client, n] = key
  const [time, action, text] = record
  if (typeof client !== 'string' || !Number.isInteger(n) || !Number.isFinite(time)) return false
  try {
    const { p, d } = JSON.parse(text)
    const path = parsePath(p)
    if (action === TRANSACTION) return true
    // Check as when the write was made: a value nested too deep would overflow the stack.
    if (action === 'm') checkUpdate(d, path)
    else checkValue(d, path)
    return action === 'p' || action === 'm'
  } catch {
    return false
  }
}

function result<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
}

function finished(transaction: IDBTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve()
    transaction.onabort = transaction.onerror = () => reject(transaction.error)
  })
}

function each(
  request: IDBRequest<IDBCursorWithValue | null>,
  visit: (cursor: IDBCursorWithValue) => void
): Promise<void> {
  return new Promise((resolve, reject) => {
    request.onerror = () => reject(request.error)
    request.onsuccess = () => {
      const cursor = request.result
      if (!cursor) return resolve()
      visit(cursor)
      cursor.continue()
    }
  })
}
