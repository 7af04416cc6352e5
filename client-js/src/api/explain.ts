import type { Core } from '../core/core.js'
import type { Explanation } from '../core/explanation.js'
import { nodeFromJSON } from '../core/node.js'
import { wireQuery } from '../core/params.js'
import { formatPath } from '../core/path.js'
import { checkUpdate, checkValue } from '../core/validate.js'
import { ask } from './ask.js'
import { checked } from './database.js'
import type { DatabaseReference, Query } from './reference.js'
import type { Changes, Writable } from './types.js'

/** What reading a query takes, and whether an index helps. Nothing of the data is told. */
export function explain(query: Query): Promise<Explanation> {
  const { db, path, params } = checked(query)
  return about(db.store as Core, { p: formatPath(path), q: wireQuery(params) })
}

/** What `set` would take. Nothing is written. */
export function explainSet<T>(ref: DatabaseReference<T>, value: Writable<T>): Promise<Explanation> {
  const { db, path } = checked(ref)
  checkValue(value, path)
  return about(db.store as Core, { p: formatPath(path), d: nodeFromJSON(value).toJSON(true) })
}

/** What `update` would take. Nothing is written. */
export function explainUpdate<T>(ref: DatabaseReference<T>, values: Changes<T>): Promise<Explanation> {
  const { db, path } = checked(ref)
  checkUpdate(values, path)
  return about(db.store as Core, { p: formatPath(path), d: values, m: 1 })
}

const about = (core: Core, body: Record<string, unknown>) => ask(core, 'x', 'x', body) as Promise<Explanation>
