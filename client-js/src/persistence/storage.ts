/** What is on disk of a database: views that were listened to, and unsent writes. */

const VIEWS = 'views'
const WRITES = 'writes'

// Records are arrays: their names must not depend on how this code was built.

/** Export form JSON, its length, and when it was used last. */
export type ViewRecord = [text: string, size: number, used: number]

/** When it was made, the action of the protocol, and the body as JSON. */
export type WriteRecord = [time: number, action: string, body: string]

/** The tab or process that made a write, and its number there. */
export type WriteKey = [client: string, n: number]

export class Storage {
  private constructor(private readonly db: IDBDatabase) {}

  static async open(factory: IDBFactory, name: string): Promise<Storage> {
    const request = factory.open(name, 1)
    request.onupgradeneeded = () => {
      request.result.createObjectStore(VIEWS)
      request.result.createObjectStore(WRITES)
    }
    const db = await result(request)
    // Another tab wants to delete or upgrade: do not be in its way.
    db.onversionchange = () => db.close()
    return new Storage(db)
  }

  close(): void {
    this.db.close()
  }

  async view(key: string): Promise<ViewRecord | undefined> {
    return result(this.store(VIEWS, 'readonly').get(key))
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
    await each(this.store(VIEWS, 'readonly').openCursor(), cursor => {
      const [, size, used] = cursor.value as ViewRecord
      sizes.set(cursor.key as string, [size, used])
    })
    return sizes
  }

  /** Saves and deletes views, all or none. */
  async saveViews(saved: ReadonlyMap<string, ViewRecord>, deleted: readonly string[]): Promise<void> {
    const store = this.store(VIEWS, 'readwrite')
    for (const [key, record] of saved) store.put(record, key)
    for (const key of deleted) store.delete(key)
    await finished(store.transaction)
  }

  async addWrite(key: WriteKey, record: WriteRecord): Promise<void> {
    const store = this.store(WRITES, 'readwrite', 'strict')
    store.put(record, key)
    await finished(store.transaction)
  }

  async deleteWrite(key: WriteKey): Promise<void> {
    const store = this.store(WRITES, 'readwrite')
    store.delete(key)
    await finished(store.transaction)
  }

  /** All writes, in the order in which each client made them. */
  async writes(): Promise<[WriteKey, WriteRecord][]> {
    const writes: [WriteKey, WriteRecord][] = []
    await each(this.store(WRITES, 'readonly').openCursor(), cursor => {
      writes.push([cursor.key as WriteKey, cursor.value as WriteRecord])
    })
    return writes
  }

  private store(
    name: string,
    mode: IDBTransactionMode,
    durability: IDBTransactionDurability = 'default'
  ): IDBObjectStore {
    return this.db.transaction(name, mode, { durability }).objectStore(name)
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
