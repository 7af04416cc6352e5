import type { Unsubscribe } from '../api/listen.js'
import type { Notice } from '../api/notice.js'
import type { Query } from '../api/reference.js'
import { follow } from './follow.js'
import { valuesOf } from './stream.js'

/**
 * Tells `callback` which children of `query` are written from now on, and no value. Resolves once the
 * server follows it, with the function that ends it. It reads an event stream. When that is lost and
 * opened again, there is a notice of all.
 */
export function onNotices(
  query: Query,
  callback: (notice: Notice) => unknown,
  cancel?: (error: Error) => unknown
): Promise<Unsubscribe> {
  return follow(
    query,
    callback,
    // Notices have no ids. Any id says that something may have been missed.
    again => ({ query: { notify: 'true' }, headers: again ? { 'last-event-id': 'again' } : undefined }),
    message => {
      valuesOf(message) // throws at the end
      return message.event === 'notify' ? [() => callback(JSON.parse(message.data))] : []
    },
    cancel
  )
}
