import { equals } from '../core/change.js'
import { invalid } from '../core/errors.js'
import type { Node } from '../core/node.js'
import type { Query } from './reference.js'
import { DataSnapshot } from './snapshot.js'

/** What `refresh` has found. */
export interface Refreshed<T = any> {
  /** What is there now; the earlier snapshot itself if that is the same. */
  readonly snapshot: DataSnapshot<T>
  readonly changed: boolean
}

/** Compares what `read` resolves with, which is told what `have` holds, with that. */
export async function refreshed<T>(
  { ref, params }: Query<T>,
  have: DataSnapshot<T>,
  read: (known: Node) => Promise<Node> | Node
): Promise<Refreshed<T>> {
  if (!have.ref.isEqual(ref) || have.index.id !== params.index.id) invalid('the snapshot is of another query')
  const node = await read(have.node)
  if (equals(node, have.node)) return { snapshot: have, changed: false }
  return { snapshot: new DataSnapshot(node, ref, params.index), changed: true }
}
