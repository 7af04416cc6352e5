import type { LiveStore } from '../core/store.js'
import type { Listener } from '../core/sync.js'
import { checkCallback } from '../core/validate.js'
import type { EventType } from '../core/view.js'
import { checked } from './database.js'
import { child, type Query } from './reference.js'
import { DataSnapshot, type IteratedDataSnapshot } from './snapshot.js'
import type { Children } from './types.js'

export type { EventType }

export interface ListenOptions {
  /**
   * Remove the listener after its first event. Events of the same change still come, such as `child_added`
   * for each child of a new list, as with `firebase/database`.
   */
  readonly onlyOnce?: boolean
}

export type Unsubscribe = () => void

type Cancel = (error: Error) => unknown
type ValueCallback<T> = (snapshot: DataSnapshot<T>) => unknown
type ChildCallback<T> = (
  snapshot: IteratedDataSnapshot<Children<T>>,
  previousChildName: string | null
) => unknown

function listen(
  type: EventType,
  query: Query,
  callback: (snapshot: any, previousChildName?: any) => unknown,
  cancel?: Cancel | ListenOptions,
  options: ListenOptions | undefined = typeof cancel === 'object' ? cancel : undefined
): Unsubscribe {
  const store = checked(query).db.store as LiveStore
  checkCallback(callback)
  const stop = () => store.unlisten(query, { matches: other => other === listener })
  const listener: Listener = {
    type,
    callback,
    next({ key, node, previous }) {
      if (options?.onlyOnce) stop()
      const { ref } = query
      if (key === null) callback(new DataSnapshot(node, ref, query.params.index))
      else callback(new DataSnapshot(node, child(ref, key)), previous)
    },
    error: typeof cancel === 'function' ? error => void cancel(error) : undefined
  }
  store.listen(query, listener)
  return stop
}

/**
 * Calls `callback` with the value of `query` now and after every change, until
 * the returned function is called. A denial ends it and goes to `cancel`.
 */
export function onValue<T>(
  query: Query<T>,
  callback: ValueCallback<T>,
  cancel?: Cancel | ListenOptions,
  options?: ListenOptions
): Unsubscribe {
  return listen('value', query, callback, cancel, options)
}

/** Calls `callback` for each child there is, and for each that comes. */
export function onChildAdded<T>(
  query: Query<T>,
  callback: ChildCallback<T>,
  cancel?: Cancel | ListenOptions,
  options?: ListenOptions
): Unsubscribe {
  return listen('child_added', query, callback, cancel, options)
}

/** Calls `callback` for each child whose value changes. */
export function onChildChanged<T>(
  query: Query<T>,
  callback: ChildCallback<T>,
  cancel?: Cancel | ListenOptions,
  options?: ListenOptions
): Unsubscribe {
  return listen('child_changed', query, callback, cancel, options)
}

/** Calls `callback` for each child whose place in the order may have changed. */
export function onChildMoved<T>(
  query: Query<T>,
  callback: ChildCallback<T>,
  cancel?: Cancel | ListenOptions,
  options?: ListenOptions
): Unsubscribe {
  return listen('child_moved', query, callback, cancel, options)
}

/** Calls `callback` with the last value of each child that goes. */
export function onChildRemoved<T>(
  query: Query<T>,
  callback: (snapshot: IteratedDataSnapshot<Children<T>>) => unknown,
  cancel?: Cancel | ListenOptions,
  options?: ListenOptions
): Unsubscribe {
  return listen('child_removed', query, callback, cancel, options)
}

/**
 * Removes listeners of a query: one callback, all of one type, or all. For a
 * plain location also those of its queries.
 */
export function off(
  query: Query,
  eventType?: EventType,
  callback?: (snapshot: DataSnapshot, previousChildName?: any) => unknown
): void {
  const matches = (listener: Listener) =>
    (!eventType || listener.type === eventType) && (!callback || listener.callback === callback)
  ;(checked(query).db.store as LiveStore).unlisten(query, { matches, first: !!callback })
}
