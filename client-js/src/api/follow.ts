import type { Core } from '../core/core.js'
import { lacksOf } from '../core/lacking.js'
import { EMPTY } from '../core/node.js'
import { loadsAll, wireQuery } from '../core/params.js'
import type { Path } from '../core/path.js'
import { type Event, newTag, type Subscription } from '../core/sync.js'
import { checkCallback } from '../core/validate.js'
import { checked } from './database.js'
import type { Unsubscribe } from './listen.js'
import type { Query } from './reference.js'

/**
 * Follows what happens in a query from now on, without its view. The server must have the feature.
 * Resolves once it follows, with the function that ends it.
 */
export function follow(
  query: Query,
  feature: string,
  action: Subscription['action'],
  callback: unknown,
  eventsOf: (at: Path, data: unknown, merge: boolean) => Event[],
  cancel?: (error: Error) => unknown
): Promise<Unsubscribe> {
  const { db, path, params } = checked(query)
  checkCallback(callback)
  const core = db.store as Core
  const lacks = lacksOf(feature)
  const tag = newTag()
  const id = `changes ${tag}`
  core.feeds.set(tag, eventsOf)
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
      action,
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
