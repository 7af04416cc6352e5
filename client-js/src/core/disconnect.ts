import type { Core } from './core.js'
import { type Answer, errorOf } from './errors.js'
import { type Node, nodeFromJSON } from './node.js'
import { cover, type Overlay, overlay, uncover } from './overlay.js'
import { formatPath, type Path, parsePath } from './path.js'

/**
 * What the server will do when this client is gone. It is also done here when
 * the connection is lost, so that this client sees what the others see.
 */
export class Disconnect {
  private plan = overlay()

  constructor(private readonly core: Core) {
    core.onLost = () => this.run()
  }

  set(path: Path, node: Node): Promise<void> {
    return this.request('o', path, node.toJSON(true), () => cover(this.plan, path, node))
  }

  update(path: Path, values: Record<string, unknown>): Promise<void> {
    return this.request('om', path, values, () => {
      for (const [key, value] of Object.entries(values)) {
        cover(this.plan, [...path, ...parsePath(key)], nodeFromJSON(value))
      }
    })
  }

  cancel(path: Path): Promise<void> {
    return this.request('oc', path, null, () => forget(this.plan, path))
  }

  private request(action: string, path: Path, json: unknown, note: () => void): Promise<void> {
    return new Promise((resolve, reject) => {
      const done = (answer: Answer) => {
        if (answer.s !== 'ok') return reject(errorOf(answer))
        note()
        resolve()
      }
      this.core.connection.send('disconnect', action, { p: formatPath(path), d: json }, done)
    })
  }

  private run(): void {
    const { core } = this
    const changes: [Path, Node][] = []
    const collect = (o: Overlay, path: Path): void => {
      const { node } = o
      if (node) changes.push([path, core.estimate(node, path)])
      for (const [key, kid] of o.kids) collect(kid, [...path, key])
    }
    collect(this.plan, [])
    this.plan = overlay()
    const events = changes.flatMap(([path, node]) => {
      const events = core.sync.set(path, node)
      const { transactions } = core
      transactions?.rerun(transactions.abort(path))
      return events
    })
    core.queue.raise([], events)
  }
}

// forget removes what is planned at and below `path`; a plan above is split first.
function forget(plan: Overlay, path: Path): void {
  let at: Overlay | undefined = plan
  for (const key of path) {
    if (at.node) {
      if (at.node.value !== null) return
      for (const [key, child] of at.node.kids) at.kids.set(key, overlay(child))
      at.node = undefined
    }
    at = at.kids.get(key)
    if (!at) return
  }
  uncover(plan, path)
}
