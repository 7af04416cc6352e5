import type { Core } from './core.js'
import { errorOf } from './errors.js'
import type { Node } from './node.js'
import { type Overlay, overlay, uncover } from './overlay.js'
import { formatPath, type Path } from './path.js'

const names: Record<string, string> = { o: 'set', om: 'update', oc: 'cancel' }

/**
 * Sends an onDisconnect operation. `note` adds it to the plan of the core once the server
 * has accepted it.
 */
export function plan(
  core: Core,
  action: string,
  path: Path,
  json: unknown,
  note: (plan: Overlay) => void
): Promise<void> {
  core.onLost = () => carryOut(core)
  return new Promise((resolve, reject) => {
    core.link.send('disconnect', action, { p: formatPath(path), d: json }, answer => {
      if (answer.s !== 'ok') return reject(errorOf(answer, formatPath(path), `onDisconnect ${names[action]}`))
      note(core.plan)
      resolve()
    })
  })
}

// carryOut applies the plan locally, as the server does, so that this client shows the same
// data as other clients.
function carryOut(core: Core): void {
  const changes: [Path, Node][] = []
  const collect = ({ node, kids }: Overlay, path: Path): void => {
    if (node) changes.push([path, core.estimate(node, path)])
    for (const [key, kid] of kids) collect(kid, [...path, key])
  }
  collect(core.plan, [])
  uncover(core.plan, [])
  const events = changes.flatMap(([path, node]) => {
    const events = core.sync.expect(path, node)
    const { transactions } = core
    transactions?.rerun(transactions.abort(path))
    return events
  })
  core.queue.raise([], events)
}

/** Removes what is planned at and below `path`; a plan above is split first. */
export function forget(plan: Overlay, path: Path): void {
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
