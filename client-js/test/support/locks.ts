// Web Locks for tests: one manager stands for one browser. What a tab holds can
// be taken from it, as when it is killed.

type Waiting = {
  name: string
  grant: (lock: object | null) => unknown
  owner: object
  signal?: AbortSignal
  settle: () => void
}

export class Browser {
  private readonly held = new Map<string, Waiting>()
  private queue: Waiting[] = []

  /** The lock manager of a new tab. */
  tab(): { request: any; kill: () => void } {
    const owner = {}
    const request = (name: string, ...rest: any[]): Promise<unknown> => {
      const grant = rest.pop()
      const { signal, ifAvailable } = rest[0] ?? {}
      if (ifAvailable && this.held.has(name)) return Promise.resolve(grant(null))
      return new Promise((resolve, reject) => {
        const waiting: Waiting = { name, grant, owner, signal, settle: () => resolve(undefined) }
        signal?.addEventListener('abort', () => {
          this.queue = this.queue.filter(other => other !== waiting)
          reject(signal.reason)
        })
        this.queue.push(waiting)
        this.next()
      })
    }
    const kill = () => {
      this.queue = this.queue.filter(waiting => waiting.owner !== owner)
      for (const [name, holder] of [...this.held]) if (holder.owner === owner) this.held.delete(name)
      this.next()
    }
    return { request, kill }
  }

  private next(): void {
    for (const waiting of [...this.queue]) {
      if (this.held.has(waiting.name)) continue
      this.queue = this.queue.filter(other => other !== waiting)
      this.held.set(waiting.name, waiting)
      const done = () => {
        if (this.held.get(waiting.name) === waiting) this.held.delete(waiting.name)
        waiting.settle()
        this.next()
      }
      Promise.resolve(waiting.grant({ name: waiting.name })).then(done, done)
    }
  }
}
