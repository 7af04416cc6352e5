import { withChild } from '../core/change.js'
import type { Node } from '../core/node.js'
import { isWithin, type Path } from '../core/path.js'
import { estimate } from '../core/servervalue.js'
import { type Event, knownAt, type Point, type SyncTree } from '../core/sync.js'

/** Shows `saved`, known from the disk, at `path`; server values of pending writes act on it. */
export function restore(tree: SyncTree, path: Path, saved: Node, tag?: number): Event[] {
  const point = tree.find(path)
  const node = point && !tag ? newest(point, saved) : saved
  const changed = tree.writes.refresh(path, (raw, at, now, except) =>
    estimate(raw, now, relative => {
      const place = [...at, ...relative]
      const there = isWithin(place, path) ? node.at(place.slice(path.length)) : null
      return tree.latest(place, except, there)
    })
  )
  const shown = changed.flatMap(at => tree.news({ type: 'write', path: at, data: tree.writes.at(at) }))
  return shown.concat(tree.set(path, node, tag))
}

// newest is a saved node with all that the views at and below its location have, which is newer. It is
// told to them, too.
function newest(at: Point, node: Node): Node {
  const whole = knownAt(at, [])
  if (whole) return whole
  for (const { view } of at.views.values())
    if (view.server.full) for (const [key, child] of view.server.node.kids) node = withChild(node, key, child)
  for (const [key, kid] of at.kids) node = withChild(node, key, newest(kid, node.child(key)))
  return node
}
