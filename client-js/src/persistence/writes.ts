import { clock } from '../core/clock.js'
import type { Core } from '../core/core.js'
import { type Answer, DogwoodError, errorOf, isEnd } from '../core/errors.js'
import type { Kind, Link, Request } from '../core/link.js'
import { nodeFromJSON } from '../core/node.js'
import { formatPath, overlaps, type Path, parsePath } from '../core/path.js'
import type { Event, Subscription } from '../core/sync.js'
import type { TokenProvider } from '../core/target.js'
import { type Storage, TRANSACTION, type WriteKey, type WriteRecord } from './storage.js'

/** Called for a write from before a reload that the server has refused, and for a lost transaction. */
export type OnRefused = (error: DogwoodError, path: string) => void

/** The answer to writes that `clear` drops. */
const CLEARED: Answer = { s: 'cleared', d: 'what was not sent was forgotten' }

/** The layer below also knows which views come from the disk alone. */
interface Below extends Link {
  /** Calls `f` once no view above or below `path` comes from the disk alone. */
  whenConfirmed(path: Path, f: () => void): void
  /** Reports whether a request has to wait. */
  holds(request: Request): boolean
}

/**
 * The layer of a link that keeps writes on disk until the server has answered them. Each
 * has an id, by which the server recognizes it if it is sent again. Of a transaction only
 * a note is kept, as its function cannot be: at the next start its loss is reported.
 */
export class SavedWrites implements Link {
  private count = 0
  private numbers = 0
  // Of transactions. The numbers of writes have no gaps: the server remembers ranges of them.
  private notes = Number.MIN_SAFE_INTEGER
  private readonly saving = new Set<Promise<unknown>>()
  private readonly waiting = new Map<string, [WriteKey, WriteRecord]>() // for an answer
  private readonly unsaved = new Set<string>() // ids of waiting writes that could not be saved
  private readonly adopted = new Map<string, WriteKey>()
  private readonly held = new Map<Request, Path>() // until a user has signed in
  private readonly tokens?: TokenProvider // that every connection asks first

  constructor(
    private readonly below: Below,
    private readonly core: Core,
    private readonly storage: Storage,
    private readonly client: string,
    private readonly maxWrites: number
  ) {
    this.tokens = core.target.token
    core.connection.holds = request => below.holds(request) || this.holds(request)
  }

  // ---- as a link

  listen(subscription: Subscription): Event[] | void {
    return this.below.listen(subscription)
  }

  unlisten(path: Path, id: string): void {
    this.below.unlisten(path, id)
  }

  send(
    kind: Kind,
    action: string,
    body: Record<string, unknown>,
    done: (answer: Answer) => void,
    writeId?: string
  ): void {
    const { connection } = this.core
    const { below } = this
    if (kind !== 'write' || 'h' in body || connection.refusal) return below.send(kind, action, body, done)
    const key = writeId ? this.adopted.get(writeId)! : this.keep(action, body)
    if (!key) {
      setTimeout(() => done({ s: 'queue_full' }))
      return
    }
    const made = writeId ? -1 : clock()
    const settled = (reply: Answer) => {
      // A write that the end of the database cuts off is sent at the next start.
      if (!this.end(key, isEnd.test(reply.s))) return // it was dropped before the answer came
      // The server may have taken a write from before this connection on an earlier one.
      const answer = { ...reply, again: made < connection.connectedAt }
      // A saved view is older than a write that was taken just now.
      if (answer.s === 'ok') below.whenConfirmed(parsePath(body.p as string), () => done(answer))
      else done(answer)
    }
    below.send(kind, action, body, settled, idOf(key))
  }

  begin(path: Path): () => void {
    const key = this.keep(TRANSACTION, { p: formatPath(path) })
    if (!key) throw errorOf({ s: 'queue_full' })
    // The promise of the transaction reports how it ends.
    return () => void this.end(key)
  }

  // holds reports whether a request waits for a user to sign in, or for the application to sign out. A write
  // from before a reload does that was made with a credential: without one it would be refused. So does
  // what comes later and writes where such a write does.
  private holds(request: Request): boolean {
    const { kind, body, writeId = '' } = request
    const { target, connection } = this.core
    const { acceptedAt, pending, token } = connection
    if (acceptedAt < Infinity || (token === null && !target.token)) this.held.clear()
    else if (kind === 'write' && (this.held.size || this.adopted.has(writeId))) {
      const path = parsePath(body.p as string)
      const waits = this.adopted.has(writeId) && this.waiting.get(writeId)?.[1][3]
      if (waits || this.comesAfter(request, path, pending)) {
        this.held.set(request, path)
        return true
      }
    }
    return false
  }

  private comesAfter(request: Request, path: Path, pending: ReadonlySet<Request>): boolean {
    for (const [other, at] of this.held) {
      if (!pending.has(other)) this.held.delete(other)
      else if (other !== request && overlaps(at, path)) return true
    }
    return false
  }

  // isSigned reports whether a write is made with a credential, which may be on its way, or fail to come.
  private isSigned(): boolean {
    const { target, connection } = this.core
    const { token, problem } = connection
    return !!token || (token === undefined && !!target.token && (target.token !== this.tokens || !!problem))
  }

  // ---- writes

  // end removes a write that waits for its answer; false if it was removed before.
  private end(key: WriteKey, stays = false): boolean {
    if (!this.waiting.delete(idOf(key))) return false
    this.count--
    this.unsaved.delete(idOf(key))
    if (!stays) void this.storage.deleteWrite(key).catch(() => {})
    return true
  }

  private keep(action: string, body: object): WriteKey | undefined {
    if (this.count >= this.maxWrites) return undefined
    this.count++
    const key: WriteKey = [this.client, action === TRANSACTION ? ++this.notes : ++this.numbers]
    this.save(key, [Date.now(), action, JSON.stringify(body), this.isSigned()])
    return key
  }

  private save(key: WriteKey, record: WriteRecord): void {
    const id = idOf(key)
    this.waiting.set(id, [key, record])
    const failed = (error: unknown) => {
      if (!this.waiting.has(id)) return
      this.unsaved.add(id)
      this.storage.report(new DogwoodError('NOT_SAVED', `a write is not on disk: ${error}`))
    }
    const saved = this.storage.addWrite(key, record).then(() => this.unsaved.delete(id), failed)
    this.saving.add(saved)
    void saved.then(() => this.saving.delete(saved))
  }

  /** Resolves when all writes made so far are on disk. Retries the failed ones. */
  async flush(): Promise<void> {
    for (const id of this.unsaved) this.save(...this.waiting.get(id)!)
    await Promise.all(this.saving)
    const { size } = this.unsaved
    if (size) throw new DogwoodError('NOT_SAVED', `${size} writes are not on disk`)
  }

  /**
   * Fails the writes without an answer, so that they are not sent again. Requests that are not
   * kept on disk, such as transactions, still get their answer if they have been sent.
   */
  forgetAll(): void {
    const { pending } = this.core.connection
    for (const request of pending) {
      // Includes requests made during this loop: the next transaction, which has waited.
      const { kind, writeId = '', done, sent } = request
      if (kind === 'get' || (sent && !this.waiting.has(writeId))) continue
      pending.delete(request)
      done(CLEARED)
    }
  }

  /**
   * Takes over writes of clients that are gone: shows them and sends them. Each of their
   * transactions is reported once: when its note has been deleted.
   */
  adopt(writes: readonly [WriteKey, WriteRecord][], onRefused: OnRefused): void {
    const { core } = this
    for (const [key, record] of inOrder(writes)) {
      const [time, action, text] = record
      if (action === TRANSACTION) {
        const tell = () => onRefused(lost(time), JSON.parse(text).p)
        void this.storage.deleteWrite(key).then(tell, () => {}) // if that fails, at the next start
        continue
      }
      this.count++
      this.waiting.set(idOf(key), [key, record])
      this.adopted.set(idOf(key), key)
      const { p, d } = JSON.parse(text)
      const path = parsePath(p)
      const merge = action === 'm'
      const values: [string, unknown][] = merge ? Object.entries(d) : [['', d]]
      const raw = values.map(([relative, value]) => {
        return [[...path, ...parsePath(relative)], nodeFromJSON(value)] as const
      })
      const written = core.submit({ path, merge, ...core.estimates(raw) }, d, [path], idOf(key))
      written.catch((error: DogwoodError) => {
        if (error.code !== 'CLEARED' && !isEnd.test(error.code)) onRefused(error, formatPath(path))
      })
    }
  }
}

// inOrder has writes by the time when they were made, but those of one client by their numbers: a clock
// may go back.
function inOrder(writes: readonly [WriteKey, WriteRecord][]): [WriteKey, WriteRecord][] {
  const latest = new Map<string, number>()
  const timed = [...writes]
    .sort(([[, a]], [[, b]]) => a - b)
    .map(write => {
      const [[client, n], [time]] = write
      const line = `${client} ${n < 0}` // notes have numbers of their own
      const after = Math.max(time, latest.get(line) ?? time)
      latest.set(line, after)
      return [after, write] as const
    })
  return timed.sort(([a], [b]) => a - b).map(([, write]) => write)
}

const lost = (time: number): DogwoodError =>
  new DogwoodError(
    'TRANSACTION_LOST',
    `the page ended before the server had answered a transaction of ${new Date(time).toJSON()}; ` +
      'look at the value, and run it again if it was not carried out'
  )

const idOf = ([client, n]: WriteKey): string => `${client}:${n}`
