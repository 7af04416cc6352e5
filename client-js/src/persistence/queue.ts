import type { Core } from '../core/core.js'
import type { Answer } from '../core/errors.js'
import { nodeFromJSON } from '../core/node.js'
import { formatPath, parsePath } from '../core/path.js'
import type { Storage, WriteKey, WriteRecord } from './storage.js'

/** Hears of a write from before that the server has refused. */
export type OnRefused = (error: Error, path: string) => void

/**
 * Keeps writes on disk until the server has answered them. Each has an id, by
 * which the server recognizes it if it is sent again. Transactions are not
 * kept: nobody could run them again.
 */
export class Queue {
  private count = 0
  private numbers = 0
  private readonly saving = new Set<Promise<void>>()
  private readonly adopted = new Map<string, WriteKey>()

  constructor(
    private readonly core: Core,
    private readonly storage: Storage,
    private readonly client: string,
    private readonly maxWrites: number
  ) {
    const { connection } = core
    const send = connection.send.bind(connection)
    connection.send = (kind, action, body, done, writeId) => {
      if (kind !== 'write' || 'h' in body) return send(kind, action, body, done)
      const key = writeId ? this.adopted.get(writeId)! : this.keep(action, body)
      if (!key) {
        setTimeout(() => done({ s: 'queue_full' }))
        return
      }
      const settled = (answer: Answer) => {
        this.count--
        void storage.deleteWrite(key).catch(() => {})
        done(answer)
      }
      send(kind, action, body, settled, idOf(key))
    }
  }

  private keep(action: string, body: object): WriteKey | undefined {
    if (this.count >= this.maxWrites) return undefined
    this.count++
    const key: WriteKey = [this.client, ++this.numbers]
    const saved = this.storage.addWrite(key, [Date.now(), action, JSON.stringify(body)]).catch(() => {})
    this.saving.add(saved)
    void saved.then(() => this.saving.delete(saved))
    return key
  }

  /** Resolves when all writes made so far are on disk. */
  async flush(): Promise<void> {
    await Promise.all(this.saving)
  }

  /** Takes over writes of clients that are gone: shows them and sends them. */
  adopt(writes: readonly [WriteKey, WriteRecord][], onRefused?: OnRefused): void {
    const { core } = this
    for (const [key, [, action, text]] of [...writes].sort((a, b) => a[1][0] - b[1][0])) {
      this.count++
      this.adopted.set(idOf(key), key)
      const { p, d } = JSON.parse(text)
      const path = parsePath(p)
      const merge = action === 'm'
      const values: [string, unknown][] = merge ? Object.entries(d) : [['', d]]
      const changes = values.map(([relative, value]) => {
        const at = [...path, ...parsePath(relative)]
        return [at, core.estimate(nodeFromJSON(value), at)] as const
      })
      const written = core.submit({ path, merge, changes }, d, [path], idOf(key))
      written.catch((error: Error) => onRefused?.(error, formatPath(path)))
    }
  }
}

const idOf = ([client, n]: WriteKey): string => `${client}:${n}`
