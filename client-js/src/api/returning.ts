import type { Core } from '../core/core.js'
import { type Node, nodeFromJSON } from '../core/node.js'
import type { Path } from '../core/path.js'
import { checkUpdate, checkValue } from '../core/validate.js'
import { supports } from './ask.js'
import { checked } from './database.js'
import type { DatabaseReference } from './reference.js'
import type { Changes, Writable } from './types.js'

/** What became of server values, by their paths below the location; "" for itself. */
export type Resolved = Readonly<Record<string, number>>

/**
 * Writes as `set` does, and returns its resolved server values: of a hundred
 * clients that add 1 at the same time, each gets another sum. A sum is left out for callers
 * that may not read it. The write is shown here only when there is a connection; with a server
 * that does not return values it fails with `UNSUPPORTED` and is not sent.
 */
export function setReturning<T>(ref: DatabaseReference<T>, value: Writable<T>): Promise<Resolved> {
  const { db, path } = checked(ref)
  checkValue(value, path)
  const node = nodeFromJSON(value)
  return submit(db.store as Core, path, false, [[path, node]], node.toJSON(true))
}

/** Writes as `update` does, and returns its resolved server values. */
export function updateReturning<T>(ref: DatabaseReference<T>, values: Changes<T>): Promise<Resolved> {
  const { db, path } = checked(ref)
  const paths = checkUpdate(values, path)
  if (!paths.length) return Promise.resolve({})
  const nodes = Object.values(values).map((value, i) => [paths[i]!, nodeFromJSON(value)] as const)
  return submit(db.store as Core, path, true, nodes, values)
}

async function submit(
  core: Core,
  path: Path,
  merge: boolean,
  nodes: readonly (readonly [Path, Node])[],
  json: unknown
): Promise<Resolved> {
  await supports(core, 'v')
  const paths = nodes.map(([at]) => at)
  const answer: { v?: Resolved } = await core.submit(
    { path, merge, ...core.estimates(nodes) },
    json,
    paths,
    '',
    1
  )
  return answer.v ?? {}
}
