import { equals, withPath } from './change.js'
import type { Core, Transactions as Hook } from './core.js'
import { type Answer, DogwoodError, errorOf } from './errors.js'
import { guard } from './events.js'
import { hashNode } from './hash.js'
import { EMPTY, type Node, nodeFromJSON } from './node.js'
import { formatPath, isWithin, overlaps, type Path } from './path.js'
import { estimate } from './servervalue.js'
import type { Event } from './sync.js'
import { checkValue } from './validate.js'

/** After so many attempts a transaction fails: client and server may never agree on the hash. */
const MAX_TRIES = 25

/**
 * - `run`: the update function has returned a value, which is not sent yet
 * - `sent`: it waits for the answer; `doomed`: likewise, but another write has aborted it
 * - `failed`: it will be removed, for `reason`
 */
type Status = 'run' | 'sent' | 'doomed' | 'failed'

interface Transaction {
  readonly path: Path
  readonly update: (value: any) => unknown
  readonly visible: boolean
  readonly done: (error: Error | null, node: Node, committed: boolean) => void
  /** Ends the listen that keeps the value at `path` up to date. */
  readonly unwatch: () => void
  status: Status
  reason: Answer
  tries: number
  writeId: number
  input: Node
  output: Node // with server values
  shown: Node // with estimates for them
}

/** The result of an update function: undefined if it gave up. */
type Outcome = { node: Node } | { error: Error } | undefined

/**
 * Transactions run update functions and send the results on condition that the data has
 * not changed. If it has, the functions run again. Transactions above or below each other
 * are sent as one.
 */
export class Transactions implements Hook {
  private list: Transaction[] = []

  constructor(private readonly core: Core) {}

  start(t: Pick<Transaction, 'path' | 'update' | 'visible' | 'done' | 'unwatch'>): void {
    const { core } = this
    const transaction: Transaction = {
      ...t,
      status: 'run',
      reason: { s: '' },
      tries: 0,
      writeId: 0,
      input: EMPTY,
      output: EMPTY,
      shown: EMPTY
    }
    const outcome = this.compute(transaction, [])
    if (!outcome || 'error' in outcome) {
      t.unwatch()
      t.done(outcome?.error ?? null, transaction.input, false)
      return
    }
    this.list.push(transaction)
    core.queue.raise(t.path, this.show(transaction))
    this.sendReady()
  }

  abort(path: Path): Path {
    const affected = this.top(path)
    const depth = (t: Transaction) => (t.path.length <= path.length ? -t.path.length : t.path.length)
    const touched = this.list.filter(t => overlaps(t.path, path)).sort((a, b) => depth(a) - depth(b))
    for (const group of groups(touched)) this.abortAll(group)
    return affected
  }

  rerun(changed: Path): Path {
    const path = this.top(changed)
    const queue = this.below(path)
    if (!queue.length) return path
    const { core } = this
    const callbacks: (() => void)[] = []
    for (const [i, t] of queue.entries()) core.queue.raise(path, this.rerunOne(t, queue.slice(i), callbacks))
    callbacks.forEach(guard)
    this.sendReady()
    return path
  }

  // rerunOne runs the first of these transactions again, or ends it, unless that is done: an update function
  // may write, and so abort others, or itself.
  private rerunOne(t: Transaction, rest: readonly Transaction[], callbacks: (() => void)[]): Event[] {
    const ended = () => !this.list.includes(t)
    if (t.status === 'sent' || t.status === 'doomed' || ended()) return []
    if (t.status === 'run' && t.tries >= MAX_TRIES) this.fail(t, { s: 'maxretry' })
    let error: Error | null = null
    if (t.status === 'run') {
      const except = rest.filter(t => t.status === 'run').map(t => t.writeId)
      const outcome = this.compute(t, except)
      if (ended()) return []
      if (outcome && 'node' in outcome) {
        const old = t.writeId
        return [...this.show(t), ...this.core.sync.settle(old, true)]
      }
      error = outcome?.error ?? null
    } else error = reasonOf(t)
    this.forget([t])
    setTimeout(t.unwatch)
    callbacks.push(() => t.done(error, t.input, false))
    return this.core.sync.settle(t.writeId, true)
  }

  // compute calls the update function with the current value.
  private compute(t: Transaction, except: readonly number[]): Outcome {
    const { core } = this
    t.input = core.sync.latest(t.path, except)
    try {
      const value = t.update(t.input.toJSON())
      if (value === undefined) return undefined
      checkValue(value, t.path)
      t.output = nodeFromJSON(value, t.input.priority)
      t.shown = estimate(t.output, core.now(), path => t.input.at(path))
      return { node: t.output }
    } catch (error) {
      return { error: error as Error }
    }
  }

  private show(t: Transaction): Event[] {
    const { core } = this
    t.writeId = ++core.writeIds
    return core.sync.write({
      id: t.writeId,
      path: t.path,
      merge: false,
      changes: [[t.path, t.shown]],
      visible: t.visible
    })
  }

  private forget(ended: readonly Transaction[]): void {
    this.list = this.list.filter(t => !ended.includes(t))
  }

  private fail(t: Transaction, reason: Answer): void {
    t.status = 'failed'
    t.reason = reason
  }

  // top is the highest path with a transaction that contains `path`.
  private top(path: Path): Path {
    const above = this.list.filter(t => isWithin(path, t.path)).map(t => t.path)
    return above.reduce((a, b) => (b.length < a.length ? b : a), path)
  }

  private below(path: Path): Transaction[] {
    return this.list.filter(t => isWithin(t.path, path))
  }

  private sendReady(): void {
    for (const [first] of groups(this.list)) {
      if (first!.status !== 'run' || this.top(first!.path).length < first!.path.length) continue
      const queue = this.below(first!.path)
      if (!queue.every(t => t.status === 'run')) continue
      if (this.outdated(queue)) {
        this.rerun(first!.path) // which calls sendReady again
        return
      }
      this.send(first!.path, queue)
    }
  }

  // outdated reports whether the current value is known and differs from the input of a
  // transaction. While an earlier transaction was in flight, its value hid the writes of other
  // clients. The official client then sends a result that was computed without them, with the
  // hash of the current value: a lost update.
  private outdated(queue: readonly Transaction[]): boolean {
    const { sync } = this.core
    const ids = queue.map(t => t.writeId)
    return queue.some((t, i) => sync.known(t.path) && !equals(t.input, sync.latest(t.path, ids.slice(i))))
  }

  private send(path: Path, queue: readonly Transaction[]): void {
    const { core } = this
    const before = core.sync.latest(
      path,
      queue.map(t => t.writeId)
    )
    let after = before
    for (const t of queue) {
      t.status = 'sent'
      t.tries++
      after = withPath(after, t.path.slice(path.length), t.output)
    }
    const body = { p: formatPath(path), d: after.toJSON(true), h: hashNode(before) }
    core.link.send('write', 'p', body, answer => this.answered(path, queue, answer))
  }

  private answered(path: Path, queue: readonly Transaction[], answer: Answer): void {
    const { core } = this
    if (answer.s !== 'ok') {
      for (const t of queue) {
        if (answer.s !== 'datastale') this.fail(t, answer)
        else if (t.status === 'doomed') t.status = 'failed'
        else t.status = 'run'
      }
      this.rerun(path)
      return
    }
    this.forget(queue)
    const events = queue.flatMap(t => {
      const events = core.sync.settle(t.writeId, false)
      t.unwatch()
      return events
    })
    this.sendReady()
    core.queue.raise(path, events)
    for (const t of queue) guard(() => t.done(null, t.shown, true))
  }

  // abortAll ends these transactions for a write that conflicts with them.
  private abortAll(group: readonly Transaction[]): void {
    const { core } = this
    let events: Event[] = []
    const ended: Transaction[] = []
    for (const t of group) {
      const reason = { s: 'set' }
      if (t.status === 'sent') {
        t.status = 'doomed'
        t.reason = reason
      } else if (t.status === 'run') {
        this.fail(t, reason)
        ended.push(t)
        t.unwatch()
        events = events.concat(core.sync.settle(t.writeId, true))
      }
    }
    this.forget(ended)
    core.queue.raise(group[0]!.path, events)
    for (const t of ended) guard(() => t.done(reasonOf(t), t.input, false))
  }
}

function reasonOf(t: Transaction): Error {
  const { s, d, rule } = t.reason
  return d ? errorOf(t.reason, formatPath(t.path), 'transaction') : new DogwoodError(s.toUpperCase(), s, rule)
}

// groups collects transactions by path.
function groups(list: readonly Transaction[]): Transaction[][] {
  const byPath = new Map<string, Transaction[]>()
  for (const t of list) {
    const key = formatPath(t.path)
    byPath.set(key, [...(byPath.get(key) ?? []), t])
  }
  return [...byPath.values()]
}
