import type { Core } from '../core/core.js'
import { lacksOf } from '../core/lacking.js'
import { EMPTY, nodeFromJSON } from '../core/node.js'
import { loadsAll, wireQuery } from '../core/params.js'
import { type Path, parsePath } from '../core/path.js'
import { newTag } from '../core/sync.js'
import { checkCallback } from '../core/validate.js'
import { checked } from './database.js'
import type { Unsubscribe } from './listen.js'
import { DatabaseReference, type Query } from './reference.js'
import { DataSnapshot } from './snapshot.js'

const lacks = lacksOf('a')

/**
 * Calls `callback` for each place in the view of `query` that is written from now on, with a
 * snapshot of the new value, whose `ref` is the place. The view itself is not sent first. Resolves
 * once the server follows it, with the function that ends it.
 *
 * Writes of this client are among them once the server has them. After a lost connection
 * the whole view comes, as a snapshot of the place of the query, because changes may have been missed. A
 * denial rejects, and a later one goes to `cancel`. Other servers are `UNSUPPORTED`.
 */
export function onChanges(
  query: Query,
  callback: (snapshot: DataSnapshot) => unknown,
  cancel?: (error: Error) => unknown
): Promise<Unsubscribe> {
  const { db, path, params } = checked(query)
  checkCallback(callback)
  const core = db.store as Core
  const tag = newTag()
  const id = `changes ${tag}`
  const eventOf = (at: Path, value: unknown) => ({
    path: at,
    run: () => void callback(new DataSnapshot(nodeFromJSON(value), new DatabaseReference(db, at)))
  })
  core.feeds.set(tag, (at, data, merge) =>
    merge
      ? Object.entries(data as object).map(([key, value]) => eventOf([...at, ...parsePath(key)], value))
      : [eventOf(at, data)]
  )
  const stop = () => {
    core.feeds.delete(tag)
    core.link.unlisten(path, id)
  }
  const cached = () => ({ node: EMPTY, full: true, filtered: false })
  return new Promise((resolve, reject) => {
    let begun: 1 | undefined
    core.link.listen({
      path,
      id,
      tag,
      query: loadsAll(params) ? undefined : wireQuery(params),
      cached,
      again: cached,
      lacks: features => params.filter?.lacks(features) ?? lacks(features),
      chg: () => (begun ? undefined : 1),
      done(status, error) {
        if (status === 'ok') {
          begun = 1
          resolve(stop)
          return []
        }
        core.feeds.delete(tag)
        reject(error)
        return begun && cancel ? [{ path, run: () => void cancel(error!) }] : []
      }
    })
  })
}
