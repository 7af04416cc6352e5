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
import type { DataSnapshot, IteratedDataSnapshot } from './snapshot.js'
import type { Children } from './types.js'

/** So many events may wait for a loop; with more, it ends with `OVERFLOW`. */
const MAX_WAITING = 10_000

/** What happened to one child. */
export interface ChildEvent<T = any> {
  readonly type: Exclude<EventType, 'value'>
  readonly snapshot: IteratedDataSnapshot<T>
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
    const adder =
      (type: ChildEvent['type']) => (snapshot: IteratedDataSnapshot, previousChildName?: string | null) =>
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

/** A generator that also ends while it waits, when the caller calls its `return`. */
function generate<E>(listen: Listen<E>, max: number): AsyncGenerator<E, void, void> {
  const queue = new EventsWaiting<E>(max)
  const generator = take(queue, listen)
  const { return: finish } = generator
  return Object.assign(generator, {
    return(): Promise<IteratorResult<E, void>> {
      queue.end()
      return finish.call(generator)
    }
  })
}

async function* take<E>(queue: EventsWaiting<E>, listen: Listen<E>): AsyncGenerator<E, void, void> {
  const stops = listen(
    event => queue.add(event),
    error => queue.end(error)
  )
  try {
    for (;;) {
      const found = queue.shift()
      if (found) yield found[0]
      else if (queue.failure) throw queue.failure
      else if (queue.ended) return
      else await queue.change()
    }
  } finally {
    for (const stop of stops) stop()
  }
}

/** Events that a loop has not taken yet. With a bound of one, the newest takes the place. */
class EventsWaiting<E> {
  failure?: Error
  ended = false
  private events: E[] = []
  private taken = 0
  private before?: number // how many waited before this task
  private wake = () => {}

  constructor(private readonly max: number) {}

  /**
   * What comes in one task is in memory anyway, as all children that a listener begins
   * with, so it is taken whole, unless too many wait already.
   */
  add(event: E): void {
    if (this.max === 1) this.clear()
    if (this.before === undefined) {
      this.before = this.events.length - this.taken
      queueMicrotask(() => {
        this.before = undefined
      })
    }
    if (this.before < this.max) this.events.push(event)
    else this.failure ??= new DogwoodError('OVERFLOW', `more than ${this.max} events are waiting`)
    this.wake()
  }

  end(failure?: Error): void {
    this.ended = true
    this.failure = failure
    this.wake()
  }

  shift(): [E] | undefined {
    const { events, taken } = this
    if (taken === events.length) return undefined
    // Lets go of what was taken, once that is half of all, so that it takes little time.
    if (++this.taken * 2 >= events.length) {
      this.events = events.slice(this.taken)
      this.taken = 0
    }
    return [events[taken]!]
  }

  private clear(): void {
    this.events = []
    this.taken = 0
  }

  /** Resolves at the next event, or at the end. */
  change(): Promise<void> {
    return new Promise(resolve => {
      this.wake = resolve
    })
  }
}
