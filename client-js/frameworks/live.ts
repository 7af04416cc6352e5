// What the entries for React, Vue and Svelte share. It listens to a query while it has
// subscribers, and never before: a server that renders has none.

import { type Children, type DataSnapshot, onValue, type Query } from '@dogwood/client'

/** What to follow. Nothing is followed with `null` and `undefined`, as while the user is signed out. */
export type Source<T = any> = Query<T> | null | undefined

/** What is known of a query now. */
export interface Live<V> {
  /** The value. It is `undefined` until it has arrived, and after an error. */
  readonly value: V | undefined
  /** The value has not arrived yet. */
  readonly pending: boolean
  /** Why there is no value, such as a denial of the rules. Nothing comes after it. */
  readonly error: Error | undefined
}

/** A child in a list. */
export interface Item<T = any> {
  readonly key: string
  readonly value: T
}

const pending: Live<never> = Object.freeze({ value: undefined, pending: true, error: undefined })
const nothing: Live<never> = Object.freeze({ value: undefined, pending: false, error: undefined })

/** Reads a snapshot as a value. */
export const asValue = <T>(snapshot: DataSnapshot<T>): T | null => snapshot.val()

/** Reads a snapshot as a list, in the order of the query. */
export function asList<T>(snapshot: DataSnapshot<T>): Item<Children<T>>[] {
  const items: Item<Children<T>>[] = []
  snapshot.forEach(child => {
    items.push({ key: child.key, value: child.val() as Children<T> })
  })
  return items
}

/** A query that is listened to while somebody subscribes. */
export class LiveQuery<T, V> {
  /** What a page shows at first, and a server for it. */
  readonly first: Live<V>
  private now: Live<V>
  private readonly subscribers = new Set<{ changed: () => void }>()
  private stop = () => {}

  constructor(
    private readonly source: Source<T>,
    private readonly read: (snapshot: DataSnapshot<T>) => V
  ) {
    this.first = source ? pending : nothing
    this.now = this.first
  }

  isOf(source: Source<T>): boolean {
    return this.source ? this.source.isEqual(source ?? null) : !source
  }

  /** Somebody subscribes. */
  get isFollowed(): boolean {
    return this.subscribers.size > 0
  }

  readonly initial = (): Live<V> => this.first

  readonly current = (): Live<V> => this.now

  /** Calls `changed` after every change, until the returned function is called. */
  readonly subscribe = (changed: () => void): (() => void) => {
    const subscriber = { changed }
    this.subscribers.add(subscriber)
    if (this.subscribers.size === 1) this.begin()
    return () => {
      if (this.subscribers.delete(subscriber) && this.subscribers.size === 0) this.end()
    }
  }

  private begin() {
    if (!this.source) return
    this.stop = onValue(
      this.source,
      snapshot => this.become({ value: this.read(snapshot), pending: false, error: undefined }),
      error => this.become({ value: undefined, pending: false, error })
    )
  }

  private end() {
    this.stop()
    this.now = this.first // what is not listened to is not known
  }

  private become(now: Live<V>) {
    this.now = now
    for (const { changed } of [...this.subscribers]) changed()
  }
}
