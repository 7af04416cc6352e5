import { DogwoodError } from '../core/errors.js'
import {
  type EventType,
  onChildAdded,
  onChildChanged,
  onChildMoved,
  onChildRemoved,
  onValue,
  type Unsubscribe
} from './listen.js'
import type { Query } from './reference.js'
import type { DataSnapshot } from './snapshot.js'
import type { Children } from './types.js'

/** So many events may wait for a loop; then it ends with an error. */
const MAX_WAITING = 10_000

/** What happened to one child. */
export interface ChildEvent<T = any> {
  readonly type: Exclude<EventType, 'value'>
  readonly snapshot: DataSnapshot<T>
  /** The key before the child; absent for `child_removed`. */
  readonly previousChildName?: string | null
}

/**
 * The value of a query now and after every change:
 * `for await (const snapshot of values(query))`. A loop that is slower than the
 * changes sees the newest value, not each. Leaving the loop stops listening.
 */
export function values<T>(query: Query<T>): AsyncGenerator<DataSnapshot<T>, void, void> {
  return generate((add, fail) => [onValue(query, add, fail)], 1)
}

/**
 * All child events of a query: `for await (const event of events(query))`.
 * Leaving the loop stops listening.
 */
export function events<T>(query: Query<T>): AsyncGenerator<ChildEvent<Children<T>>, void, void> {
  return generate((add, fail) => {
    const adder = (type: ChildEvent['type']) => (snapshot: DataSnapshot, previousChildName?: string | null) =>
      add({ type, snapshot, previousChildName })
    return [
      onChildRemoved(query, adder('child_removed')),
      onChildAdded(query, adder('child_added')),
      onChildMoved(query, adder('child_moved')),
      onChildChanged(query, adder('child_changed'), fail)
    ]
  }, MAX_WAITING)
}

type Listen<E> = (add: (event: E) => void, fail: (error: Error) => void) => Unsubscribe[]

async function* generate<E>(listen: Listen<E>, max: number): AsyncGenerator<E, void, void> {
  let waiting: E[] = []
  let failure: Error | undefined
  let wake = () => {}
  const stops = listen(
    event => {
      if (waiting.length < max) waiting.push(event)
      else if (max === 1) waiting = [event]
      else failure ??= new DogwoodError('OVERFLOW', `more than ${max} events are waiting`)
      wake()
    },
    error => {
      failure = error
      wake()
    }
  )
  try {
    for (;;) {
      if (waiting.length) yield waiting.shift()!
      else if (failure) throw failure
      else {
        await new Promise<void>(resolve => {
          wake = resolve
        })
      }
    }
  } finally {
    for (const stop of stops) stop()
  }
}
