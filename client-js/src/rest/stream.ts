import { checked } from '../api/database.js'
import type { ListenOptions, Unsubscribe } from '../api/listen.js'
import type { Query } from '../api/reference.js'
import { DataSnapshot } from '../api/snapshot.js'
import { withPath } from '../core/change.js'
import { DogwoodError } from '../core/errors.js'
import { guard } from '../core/events.js'
import { EMPTY, nodeFromJSON } from '../core/node.js'
import { type Path, parsePath } from '../core/path.js'
import { checkCallback } from '../core/validate.js'
import { LATE, originOf, sayLate } from '../core/warn.js'
import type { Reply } from './reply.js'
import { type RestStore, restQuery } from './store.js'

const LONGEST_WAIT = 30_000

/**
 * Calls `callback` with the value of `query` now and after every change, until
 * the returned function is called. It reads an event stream, and opens it again
 * when it ends. A denial ends it and goes to `cancel`.
 */
export function onValue<T>(
  query: Query<T>,
  callback: (snapshot: DataSnapshot<T>) => unknown,
  cancel?: ((error: Error) => unknown) | ListenOptions,
  options: ListenOptions | undefined = typeof cancel === 'object' ? cancel : undefined
): Unsubscribe {
  checked(query)
  checkCallback(callback)
  let abort = new AbortController()
  let stopped = false
  const stop = () => {
    stopped = true
    clearTimeout(late)
    abort.abort()
  }
  let problem = ''
  const late = setTimeout(() => {
    const { store } = query.db
    if (warned.has(store)) return
    warned.add(store)
    sayLate(originOf(store.target), problem || 'it does not answer')
  }, LATE)
  const follow = async () => {
    for (let failures = 0; !stopped; failures++) {
      abort = new AbortController()
      try {
        for await (const snapshot of snapshots(query, abort)) {
          failures = 0
          clearTimeout(late)
          if (stopped) return
          if (options?.onlyOnce) stop()
          guard(() => callback(snapshot))
        }
      } catch (error) {
        problem = (error as Error).message.replace(/^UNAVAILABLE: /, '')
        // A failure that may be temporary is tried again.
        if (error instanceof DogwoodError && error.code !== 'UNAVAILABLE' && !stopped) {
          stop()
          if (typeof cancel === 'function') guard(() => cancel(error))
        }
      }
      if (!stopped) await pauseAfter(failures)
    }
  }
  void follow()
  return stop
}

// The stores whose server was late: one warning is enough for all streams of a database.
const warned = new WeakSet<object>()

/** Waits before a stream is opened again. */
export const pauseAfter = (failures: number) =>
  pause(Math.random() * Math.min(LONGEST_WAIT, 1000 * 2 ** failures))

const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))

async function* snapshots<T>(query: Query<T>, abort: AbortController): AsyncGenerator<DataSnapshot<T>> {
  const { path, params, ref } = query
  const store = query.db.store as RestStore
  const headers = { accept: 'text/event-stream' }
  const reply = await store.request('GET', path, { query: restQuery(params), headers, abort })
  let node = EMPTY
  for await (const message of messages(reply)) {
    const values = valuesOf(message)
    for (const [at, value] of values) node = withPath(node, at, nodeFromJSON(value))
    if (values.length || message.event === 'patch') yield new DataSnapshot(node, ref, params.index)
  }
}

/** The values that an event of a stream has, by their paths below the location. Throws if it is the end. */
export function valuesOf({ event, data }: { event: string; data: string }): [Path, unknown][] {
  if (event === 'cancel') throw new DogwoodError('PERMISSION_DENIED', data)
  if (event !== 'put' && event !== 'patch') return []
  const change = JSON.parse(data)
  const at = parsePath(change.path)
  const values: [string, unknown][] = event === 'put' ? [['', change.data]] : Object.entries(change.data)
  return values.map(([key, value]) => [[...at, ...parsePath(key)], value])
}

/** The events of an event stream. */
export async function* messages(reply: Reply): AsyncGenerator<{ event: string; data: string }> {
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0 // of the event that has begun
  for await (const part of reply.pieces()) {
    const piece = decoder.decode(part, { stream: true })
    text += piece
    bytes += part.length
    reply.bound(bytes)
    // Else what has come of a large event would be searched again and again.
    if (!piece.includes('\n')) continue
    const events = text.split('\n\n')
    text = events.pop()!
    if (events.length) bytes = text.length
    for (const lines of events) {
      const field = (name: string) => lines.match(new RegExp(`^${name}: ?(.*)$`, 'm'))?.[1] ?? ''
      yield { event: field('event'), data: field('data') }
    }
  }
}
