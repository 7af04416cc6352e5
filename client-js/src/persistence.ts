import { defaultSocket } from '#socket'
import { type Database, forget } from './api/database.js'
import { CLOSED, close } from './core/close.js'
import type { Core } from './core/core.js'
import { type DogwoodError, errorOf, invalid } from './core/errors.js'
import { guard } from './core/events.js'
import { HeldListeners } from './persistence/listeners.js'
import { Storage, type WriteKey, type WriteRecord } from './persistence/storage.js'
import { type Platform, Tabs } from './persistence/tabs.js'
import { SavedViews } from './persistence/views.js'
import { type OnRefused, SavedWrites } from './persistence/writes.js'

export interface PersistenceOptions {
  /** The most bytes of views to keep; the least recently used are deleted first. Default: 20 MB. */
  maxBytes?: number
  /** The most writes and transactions that may wait for the server; more are refused. Default: 10000. */
  maxWrites?: number
  /**
   * Called at the next start for work from before a reload that failed: for writes that the
   * server has refused, and with `TRANSACTION_LOST` for transactions without an answer, whose
   * functions are lost with the page. Default: a warning in the console.
   */
  onRefused?: OnRefused
  /**
   * Called for problems with the disk. `NOT_SAVED`: new data could not be saved, for instance
   * because the disk is full, and would be lost with the page. `UNREADABLE`: saved data could
   * not be read and was deleted. Default: a warning in the console.
   */
  onError?: (error: DogwoodError) => void
  /** Share one connection among the tabs of a browser. Default: true where tabs exist. */
  shareConnection?: boolean
  /**
   * For runtimes without these globals: what the browser has under these names, or the like.
   * The types need no declarations of the DOM.
   */
  indexedDB?: { open(name: string, version?: number): object }
  locks?: { request(name: string, ...args: any[]): Promise<any> }
  BroadcastChannel?: new (name: string) => object
}

/** Persistence that was enabled. */
export interface Persistence {
  /**
   * Resolves when all writes and views so far are on disk. Without it, writes are given to
   * the browser at once, so only a crash of the browser itself can lose the last of them;
   * views are saved soon after a change, and when the page is hidden. Rejects with
   * `NOT_SAVED` if a write cannot be saved.
   */
  flush(): Promise<void>
  /**
   * Deletes everything on disk and drops all writes of this tab without an answer: they fail
   * with `CLEARED`. Call and await it when a user signs out, since the data on disk does not
   * say which user it belongs to.
   */
  clear(): Promise<void>
  /**
   * Ends the database as `deleteDatabase` does, which ends persistence, too. Resolves when the views are
   * saved. Saved data stays on disk.
   */
  stop(): Promise<void>
}

// The databases with persistence, or about to have it.
const enabled = new WeakSet<Core>()

/**
 * Keeps views and unanswered writes in IndexedDB: they survive a reload, a crash, and being
 * offline. Call and await it before the database is used. Rejects with `NO_STORAGE` if
 * IndexedDB cannot be used; then the database works without persistence.
 */
export async function enablePersistence(
  db: Database,
  options: PersistenceOptions = {}
): Promise<Persistence> {
  const core = db.store as Core
  const { connection, target } = core
  const { signal } = connection.closing
  if (signal.aborted) invalid('the database was deleted')
  if (enabled.has(core)) invalid('persistence is enabled already')
  if (connection.state !== 'offline') invalid('persistence must be enabled before the database is used')
  const { maxBytes = 20e6, maxWrites = 10_000, indexedDB = globalThis.indexedDB } = options
  if (!indexedDB) invalid('there is no IndexedDB here: pass one as the option indexedDB')
  enabled.add(core)
  const name = `dogwood ${target.host} ${target.namespace}`
  const client = uuid()
  const { onError = error => console.warn(error) } = options
  const { onRefused = (error, path) => console.warn(path, error) } = options
  const storage = await Storage.open(indexedDB as IDBFactory, name, error =>
    guard(() => onError(error))
  ).catch(error => {
    enabled.delete(core)
    throw error
  })
  if (signal.aborted) {
    storage.close()
    throw errorOf(CLOSED)
  }
  const locks = (options.locks ?? globalThis.navigator?.locks) as Platform['locks']
  const Channel = (options.BroadcastChannel ?? globalThis.BroadcastChannel) as typeof BroadcastChannel
  let tabs: Tabs | undefined
  let views: SavedViews | undefined
  let release = () => {}
  const stopped = new Promise<void>(resolve => {
    release = resolve
  })
  const end = async () => {
    const saved = views?.stop() // before the listens end
    tabs?.stop()
    await saved
    storage.close()
    release() // so that the next start takes over what is left
  }
  const ended = new Promise<void>(resolve => signal.addEventListener('abort', () => resolve(end())))
  const read = <T>(reading: Promise<T>) =>
    reading.finally(() => {
      if (signal.aborted) throw errorOf(CLOSED)
    })
  if (locks && Channel && (options.shareConnection ?? !!(options.locks || globalThis.document))) {
    const Socket = target.WebSocket ?? defaultSocket()
    tabs = new Tabs(name, client, Socket, addressOf(core), { locks, channel: new Channel(name) })
    target.WebSocket = tabs.socketClass()
  } else if (locks) void locks.request(`${name} ${client}`, () => stopped)
  const sizes = await read(storage.sizes())
  // The layers, from the application down to the server. A listener passes HeldListeners on its
  // way to the tree of views. A request passes SavedWrites, SavedViews, the connection, and
  // finally the socket, which may lead to the connection that the tabs share.
  const saved = (views = new SavedViews(core.link, core, storage, sizes, maxBytes))
  const writes = new SavedWrites(saved, core, storage, client, maxWrites)
  core.link = writes
  core.listeners = new HeldListeners(core.sync, saved, core.queue)
  writes.adopt(await read(orphans(storage, name, locks, stopped)), onRefused)

  const hidden = () => void (globalThis.document?.hidden && saved.saveAll())
  globalThis.document?.addEventListener('visibilitychange', hidden, connection.closing)
  globalThis.addEventListener?.('pagehide', hidden, connection.closing)
  const flush = async () => {
    await Promise.all([writes.flush(), saved.saveAll()])
  }
  return {
    flush,
    async clear() {
      if (signal.aborted) throw errorOf(CLOSED)
      writes.forgetAll()
      await flush().catch(() => {}) // a write that is not on disk need not be deleted
      saved.forgetAll()
      await storage.clear()
    },
    async stop() {
      close(core)
      forget(db)
      await ended
    }
  }
}

// uuid also works on origins without TLS, which have no crypto.randomUUID.
function uuid(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  bytes[6] = (bytes[6]! & 0x0f) | 0x40
  bytes[8] = (bytes[8]! & 0x3f) | 0x80
  const hex = Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

function addressOf({ target: { host, secure, namespace } }: Core): string {
  return `${secure ? 'wss' : 'ws'}://${host}/.ws?v=5${namespace && `&ns=${namespace}`}`
}

// orphans are the writes of clients that are gone. The tab that gets the lock of such a
// client keeps the lock until it is stopped, so that only one tab takes over its writes.
async function orphans(
  storage: Storage,
  name: string,
  locks: Platform['locks'],
  stopped: Promise<void>
): Promise<[WriteKey, WriteRecord][]> {
  const writes = await storage.writes()
  if (!locks) return writes
  const dead = new Set<string>()
  for (const client of new Set(writes.map(([key]) => key[0]))) {
    await new Promise<void>(resolve => {
      void locks.request(`${name} ${client}`, { ifAvailable: true }, lock => {
        if (lock) dead.add(client)
        resolve()
        return lock ? stopped : undefined
      })
    })
  }
  // Read again: its writes may have been answered and deleted just before.
  return (await storage.writes()).filter(([[client]]) => dead.has(client))
}
