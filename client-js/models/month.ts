// The messages of a conversation in one month, told as they come.

import {
  type DataSnapshot,
  endBefore,
  get,
  limitToFirst,
  limitToLast,
  onValue,
  orderByKey,
  type Query,
  query,
  startAfter,
  type Unsubscribe
} from '@dogwood/client'
import { guard, type Keyed, keys, records } from './records.js'

/** The rules deny reading more at once. */
const MAX_READ = 100

/**
 * Calls `next` with messages that come, and again with those that are marked as deleted,
 * until the returned function is called. `known` says how many of those there are told
 * at first; without it, all. `cancel` hears, once, if they cannot be read any more.
 */
export function watchMonth<T extends { deletedAt?: number }>(
  messages: Query<Record<string, T>>,
  next: (message: Keyed<T>) => unknown,
  known?: number,
  cancel?: (error: Error) => unknown
): Unsubscribe {
  const month = new Month(messages, next, known, cancel)
  month.begin()
  return () => month.end()
}

/**
 * A Month listens to a window on the last messages. What comes at once may be more than
 * that has room for: then all behind the beginning of the window before is read in pages.
 */
class Month<T extends { deletedAt?: number }> {
  private unlisten: Unsubscribe = () => {}
  private stopped = false
  private reading = false
  private state?: DataSnapshot // that is still to be told
  private from = '' // the key where the window began; what is below is done with
  private told = new Map<string, boolean>() // from there on: whether it is deleted

  constructor(
    private readonly messages: Query<Record<string, T>>,
    private readonly next: (message: Keyed<T>) => unknown,
    private known?: number,
    private readonly cancel?: (error: Error) => unknown
  ) {}

  begin() {
    const window = query(this.messages, orderByKey(), limitToLast(MAX_READ))
    this.unlisten = onValue(
      window,
      state => {
        this.state = state
        if (!this.reading) void this.follow()
      },
      error => this.fail(error)
    )
    if (this.stopped) this.unlisten()
  }

  // follow tells the states that have come, one after the other.
  private async follow() {
    this.reading = true
    try {
      for (let state = this.state; state && !this.stopped; state = this.state) {
        this.state = undefined
        const window = keys(state)
        if (this.known !== undefined) this.skip(window)
        else if (this.jumped(window)) await this.catchUp(window[0]!)
        this.tell(state)
        if (window.length === MAX_READ) this.move(window[0]!)
      }
    } catch (error) {
      this.fail(error as Error)
    } finally {
      this.reading = false
    }
  }

  // skip takes all but the last messages of the first window as told.
  private skip(window: string[]) {
    for (const key of window.slice(0, Math.max(0, window.length - this.known!))) this.told.set(key, false)
    this.known = undefined
  }

  // jumped reports whether more has come than one message in the place of another.
  private jumped(window: string[]): boolean {
    return window.length === MAX_READ && window.filter(key => !this.told.has(key)).length > 1
  }

  // catchUp tells what lies between the beginnings of two windows.
  private async catchUp(to: string) {
    for (let after = this.from, full = true; full && !this.stopped; ) {
      const from = after ? [startAfter(after)] : []
      const page = await get(
        query(this.messages, orderByKey(), ...from, endBefore(to), limitToFirst(MAX_READ))
      )
      this.tell(page)
      const read = keys(page)
      full = read.length === MAX_READ
      after = read.at(-1) ?? after
    }
  }

  private tell(state: DataSnapshot) {
    for (const message of records<T>(state)) {
      const { key } = message
      const deleted = message.deletedAt !== undefined
      if (key < this.from || this.told.get(key) === deleted) continue
      this.told.set(key, deleted)
      guard(() => !this.stopped && this.next(message))
    }
  }

  private move(from: string) {
    if (from <= this.from) return
    this.from = from
    for (const key of this.told.keys()) if (key < from) this.told.delete(key)
  }

  private fail(error: Error) {
    if (this.stopped) return
    this.end()
    guard(() => this.cancel?.(error))
  }

  end() {
    this.stopped = true
    this.unlisten()
  }
}
