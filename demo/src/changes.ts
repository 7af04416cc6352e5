// Where the database changes, as the server tells its owner: the paths of the writes
// of all clients. No value comes with them.

import { network } from './client.js'
import { namespace, owner } from './model.js'

const WRITES = new Set([
  'realtime-write',
  'realtime-update',
  'realtime-transaction',
  'rest-write',
  'rest-update'
])
const AGAIN = 3000 // after the server has refused, as it does when too many are listening

/** Calls `f` with the path of each write while `wanted()`; with '' if it may be any path. */
export class Changes {
  private source?: EventSource
  private timer?: ReturnType<typeof setTimeout>

  constructor(
    private readonly f: (path: string) => void,
    private readonly wanted: () => boolean
  ) {
    document.addEventListener('visibilitychange', () => this.check())
    network.changed.on(() => this.check())
  }

  // A browser has few connections to one server, so a page that is not seen keeps none.
  /** Begins or ends to listen. */
  check(): void {
    clearTimeout(this.timer)
    if (!this.wanted() || document.hidden || network.off) {
      this.source?.close()
      this.source = undefined
    } else if (!this.source) this.begin()
  }

  private begin(): void {
    const query = new URLSearchParams({ ns: namespace, access_token: owner.id })
    const source = new EventSource(`/.settings/profile.json?${query}`)
    this.source = source
    source.addEventListener('open', () => this.f(''))
    source.addEventListener('dropped', () => this.f(''))
    source.addEventListener('log', event => this.log(event.data))
    source.addEventListener('error', () => {
      if (source.readyState !== EventSource.CLOSED) return // it tries again by itself
      if (this.source === source) this.source = undefined
      this.timer = setTimeout(() => {
        this.f('') // nobody tells what has changed meanwhile
        this.check()
      }, AGAIN)
    })
  }

  private log(text: string): void {
    const { name, path, allowed } = JSON.parse(text)
    if (name === 'concurrent-disconnect')
      this.f('') // what was left for then
    else if (WRITES.has(name) && allowed !== false)
      this.f((path ?? []).map((key: string) => `/${key}`).join(''))
  }
}

/** Whether a write at one path may change what is at another, or which keys are there. */
export const touches = (write: string, path: string): boolean =>
  write === path || within(write, path) || within(path, write)

/** Whether a path is below another. */
export const within = (path: string, above: string): boolean => path.startsWith(`${above}/`)
