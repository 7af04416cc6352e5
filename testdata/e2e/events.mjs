// Waiting without sleeping: a test states what must happen and goes on as soon
// as it has. Every wait has a deadline, which fails the test and says what was
// awaited and what was seen instead.

import { isDeepStrictEqual, inspect } from 'node:util'
import {
  onChildAdded, onChildChanged, onChildMoved, onChildRemoved, onValue, ref, set
} from 'firebase/database'

/** Far above what anything here needs, below the runner's own timeout. */
export const DEADLINE = 60_000

/** Resolves as `promise` does, or rejects when that takes too long. */
export function within(promise, what, ms = DEADLINE) {
  let timer
  const deadline = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no ${what} within ${ms} ms`)), ms)
  })
  return Promise.race([promise, deadline]).finally(() => clearTimeout(timer))
}

/** A list that grows by callbacks, and that tests can wait on. */
export class Log {
  items = []
  #waiting = new Set()
  #failure = null

  add = item => {
    this.items.push(item)
    this.#wake()
  }

  /** Ends all waits, present and future: nothing more will come. */
  fail = error => {
    this.#failure = error
    this.#wake()
  }

  get last() {
    return this.items.at(-1)
  }

  /** Resolves with the first truthy result of `test(items)`. */
  async until(test, what = test.toString()) {
    const result = test(this.items)
    if (result) return result
    if (this.#failure) throw this.#failure
    let check
    const found = new Promise((resolve, reject) => {
      check = () => {
        try {
          const result = test(this.items)
          if (result) resolve(result)
          else if (this.#failure) reject(this.#failure)
        } catch (error) {
          reject(error)
        }
      }
    })
    this.#waiting.add(check)
    try {
      return await within(found, what)
    } catch (error) {
      error.message += `; the last of ${this.items.length} items: ${brief(this.items.slice(-3))}`
      throw error
    } finally {
      this.#waiting.delete(check)
    }
  }

  /** Resolves with the first item, past or future, that `test` accepts. */
  find(test, what = test.toString()) {
    return this.until(items => found(items, test), what).then(([item]) => item)
  }

  /** Resolves when the last item equals `want`. */
  reaches(want, what = `item ${brief(want)}`) {
    return this.until(items => items.length > 0 && isDeepStrictEqual(items.at(-1), want), what)
  }

  /** Resolves when there are at least n items. */
  count(n) {
    return this.until(items => items.length >= n, `item number ${n}`)
  }

  #wake() {
    for (const check of [...this.#waiting]) check()
  }
}

// found wraps the item, which may itself be falsy.
function found(items, test) {
  const i = items.findIndex(test)
  return i >= 0 && [items[i]]
}

function brief(value) {
  const text = inspect(value, { depth: 6, breakLength: Infinity })
  return text.length > 400 ? `${text.slice(0, 400)}…` : text
}

/** The values of a query, one item per event. `stop()` unsubscribes. */
export function values(query, read = snap => snap.val()) {
  const log = new Log()
  log.stop = onValue(query, snap => log.add(read(snap)), log.fail)
  return log
}

/** The child events of a query as short texts: `added b after a`. */
export function children(query) {
  const log = new Log()
  const on = (subscribe, verb, withPrevious) =>
    subscribe(query, (snap, previous) => {
      log.add(`${verb} ${snap.key}${withPrevious ? ` after ${previous}` : ''}`)
    }, log.fail)
  const stops = [
    on(onChildAdded, 'added', true),
    on(onChildChanged, 'changed', true),
    on(onChildMoved, 'moved', true),
    on(onChildRemoved, 'removed', false)
  ]
  log.stop = () => stops.forEach(stop => stop())
  return log
}

/** Keys of a snapshot's children in the order the client iterates them. */
export function keys(snap) {
  const list = []
  snap.forEach(child => void list.push(child.key))
  return list
}

let fences = 0

/**
 * A round trip of this client. Frames of one connection keep their order, so
 * when it resolves, every push that the server had queued for this client has
 * been handled. Tests use it to show that something did NOT happen.
 */
export function fence(db) {
  return within(set(ref(db, 'fence'), ++fences), 'answer to a fence write')
}
