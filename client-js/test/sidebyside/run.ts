import { compareToKey, MAX_KEY, MIN_KEY } from '../../src/core/bound.js'
import { equals, kept } from '../../src/core/change.js'
import { compareKeys } from '../../src/core/key.js'
import type { Entry, Node } from '../../src/core/node.js'
import { compareEntries, KEY, VALUE } from '../../src/core/order.js'
import { applied, forEachNode, type Overlay, uncover } from '../../src/core/overlay.js'
import type { Params } from '../../src/core/params.js'
import { isWithin, type Path } from '../../src/core/path.js'
import { Transactions } from '../../src/core/transactions.js'
import { View } from '../../src/core/view.js'
import { type Write, Writes } from '../../src/core/writes.js'
import * as ours from '../../src/index.js'
import { HeldSocket } from '../support/held-socket.js'
import { official } from '../support/official.js'
import { freshNamespace, type Server } from '../support/server.js'
import { Deadline, Stuck } from './deadline.js'
import { history, type Step } from './history.js'
import { Tally } from './tally.js'
import { type Library, World } from './world.js'

const LENGTH = 60
/** Milliseconds for one history; most take a third of a second. */
export const LIMIT = 60_000
const clientsOf = (seed: number): number => (seed % 4 === 0 ? 3 : 2)

/**
 * What the official client gets wrong. A history is compared up to the point
 * where this happens; then its two worlds have different states for good.
 */
export const exemptions = new Map<string, number>()
let exempt: string | undefined

/** How many steps there were, and how many of them were compared. */
let planned = 0
let compared = 0
export const share = (): number => compared / planned

// A transaction that was sent, and over which two writes were made, is forgotten
// by the official client: its promise never ends, and what it showed stays.
const prototype = Transactions.prototype as any
const { abortAll } = prototype
prototype.abortAll = function (group: { status: string }[]) {
  if (group.some(t => t.status === 'doomed') && !group.some(t => t.status === 'sent'))
    exempt = 'forgotten transaction'
  return abortAll.call(this, group)
}

// For the same reason it may fill a window wrongly when it gets all the data.
const { window } = View.prototype as any
;(View.prototype as any).window = function (node: Node, filters?: boolean) {
  const { index, last, limit, start, end } = this.params as Params
  const unordered = index !== KEY && index !== VALUE && node.kids.every(kid => index.of(kid[1]) === null)
  const key = last ? end && (end.key ?? MAX_KEY) : start && (start.key ?? MIN_KEY)
  if (filters !== false && limit && limit * 2 < node.kids.length && unordered && key !== undefined) {
    const side = last ? -1 : 1
    const reached = kept(node, kid => compareToKey(kid[0], key) * side >= 0)
    if (!equals(window.call(this, reached), window.call(this, node))) exempt = 'wrong window'
  }
  return window.call(this, node, filters)
}

// Transactions that do not concern each other and become ready at the same time
// are sent in the order of a JavaScript object by the official client (integers
// first), and in the order of their start by this one.
const { sendReady, send } = prototype
let sends = 0
prototype.sendReady = function () {
  sends = 0
  sendReady.call(this)
}
prototype.send = function (...args: unknown[]) {
  if (++sends > 1) exempt = 'order of transactions'
  send.apply(this, args)
}

// While a transaction waits for one in flight, what it shows hides the writes of other
// clients. Then the official client sends what its function made of an older value, with
// the hash of the current one, and the writes of the others are lost. This client runs the
// function again. If the value is not known, the hash is wrong, and nothing is lost.
const { outdated } = prototype
prototype.outdated = function (queue: readonly { path: Path }[]) {
  const result = outdated.call(this, queue)
  if (result && queue.every(t => this.core.sync.known(t.path))) exempt = 'lost update'
  return result
}

// Where the official client needs to know a value with all pending writes (for
// increments and transactions), it overlooks deep paths of updates from above.
const { latest } = Writes.prototype
Writes.prototype.latest = function (path, server, except) {
  const result = latest.call(this, path, server, except)
  const { list } = this as unknown as { list: Write[] }
  const seen = list.map(write => {
    const above = write.path.length < path.length && isWithin(path, write.path)
    if (!write.merge || !above) return write
    return { ...write, changes: write.changes.filter(change => change[0].length === write.path.length + 1) }
  })
  const theirs = latest.call(Object.assign(new Writes(), { list: seen }), path, server, except)
  if (!equals(theirs, result)) exempt = 'overlooked update'
  return result
}

// When a write ends, the official client looks only below it for other pending
// writes. What an update from above or a set above changed there gets lost, or
// what the write itself showed stays.
const { remove } = Writes.prototype
Writes.prototype.remove = function (id) {
  const { list, shown } = this as unknown as { list: Write[]; shown: Overlay }
  const write = list.find(write => write.id === id)!
  const before = new Writes()
  for (const other of list) before.add(other)
  const gone = remove.call(this, id)
  if (gone && !list.some(other => other.visible && isWithin(other.path, write.path))) {
    for (const [path] of write.changes) uncover(before.shown, path)
    if (text(before.shown) !== text(shown)) exempt = 'lost write'
  }
  return gone
}

function text(shown: Overlay): string {
  const parts: unknown[] = []
  forEachNode(shown, (path, node) => parts.push(path, node.toJSON(true)))
  return JSON.stringify(parts)
}

// To fill up a window, the official client looks for the next child in key
// order if none of the others has a value to sort by, and may miss it.
const { next } = View.prototype as any
;(View.prototype as any).next = function (entry: Entry) {
  const found = next.call(this, entry)
  const { index, last } = this.params as Params
  const base = this.complete ?? (this.server.full ? this.server.node : null)
  const over = this.over() as Overlay
  const all: Node | null = over.node ?? (base && applied(over, base))
  if (!all || index === KEY || index === VALUE || all.kids.some(kid => index.of(kid[1]) !== null))
    return found
  const side = last ? -1 : 1
  const theirs = (last ? [...all.kids].reverse() : all.kids).find(
    kid => compareKeys(kid[0], entry[0]) * side >= 0 && compareEntries(index, kid, entry) * side > 0
  )
  if (theirs?.[0] !== found?.[0]) exempt = 'missed next child'
  return found
}

let apps = 0

export async function libraries(): Promise<Library[]> {
  const theirs = await official(HeldSocket)
  return [
    {
      api: theirs,
      open(databaseURL) {
        const app = theirs.initializeApp({ databaseURL }, `app${++apps}`)
        return { db: theirs.getDatabase(app), close: () => theirs.deleteApp(app) }
      }
    },
    {
      api: ours,
      open(databaseURL) {
        const db = ours.getDatabase({ databaseURL, WebSocket: HeldSocket })
        return { db, close: () => ours.deleteDatabase(db) }
      }
    }
  ]
}

/** What the two libraries saw differently, or undefined. Rejects with Stuck after `limit` milliseconds. */
export async function difference(
  libraries: readonly Library[],
  server: Pick<Server, 'url' | 'rest'>,
  clients: number,
  steps: readonly Step[],
  limit = LIMIT
): Promise<string | undefined> {
  const worlds = libraries.map(library => new World(library, server, freshNamespace()))
  const [theirs, ours] = worlds as [World, World]
  const deadline = new Deadline(theirs, ours, limit)
  exempt = undefined
  try {
    await deadline.both('the start', world => world.start(clients))
    let found: string | undefined
    const tally = new Tally()
    planned += steps.length + 1
    for (let n = 0; n <= steps.length && !found && !exempt; n++) {
      const step = steps[n]
      const at = `step ${n} ${JSON.stringify(step)}`
      compared++
      const [want, got] = await deadline.both(at, world => (step ? world.step(step) : world.settle()))
      tally.add(step, got)
      found = compare(at, want, got)
      if (ours.broken) return `step ${n}: ${ours.broken}`
      if (theirs.broken) exempt ??= 'failed assertion'
      // While a get is not answered, the official client takes its place for one that
      // is listened to: a listen there or below that is given up goes on at the server.
      if (!found && ours.ends > theirs.ends) exempt ??= 'listen that goes on'
    }
    if (!exempt) return found
    exemptions.set(exempt, (exemptions.get(exempt) ?? 0) + 1)
    return undefined
  } finally {
    deadline.end()
    await Promise.all(worlds.map(world => world.stop()))
  }
}

function compare(where: string, want: string[], got: string[]): string | undefined {
  if (JSON.stringify(want) === JSON.stringify(got)) return undefined
  return `at ${where}\n  official client:\n${indent(want)}\n  this client:\n${indent(got)}`
}

const indent = (lines: readonly string[]): string => lines.map(line => `    ${line}`).join('\n')

/** The difference for a seed, with the shortest history found that shows one. */
export async function check(
  libs: readonly Library[],
  server: Server,
  seed: number
): Promise<string | undefined> {
  const clients = clientsOf(seed)
  let steps = history(seed, clients, LENGTH)
  let found: string | undefined
  const shown = (what: string) =>
    `seed ${seed}: ${what}\n  history:\n${indent(steps.map(step => JSON.stringify(step)))}`
  try {
    found = await difference(libs, server, clients, steps)
    if (!found) return undefined
    // Leave out what is not needed.
    for (let size = steps.length >> 1; size >= 1; size >>= 1) {
      for (let at = 0; at < steps.length; ) {
        const fewer = [...steps.slice(0, at), ...steps.slice(at + size)]
        const still = await difference(libs, server, clients, fewer)
        if (still) {
          steps = fewer
          found = still
        } else at += size
      }
    }
    return shown(found)
  } catch (error) {
    if (!(error instanceof Stuck)) throw error
    return shown(found ? `${found}\n  then ${error.message}` : error.message)
  }
}
