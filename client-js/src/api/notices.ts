import { follow } from './follow.js'
import type { Unsubscribe } from './listen.js'
import type { Notice } from './notice.js'
import type { Query } from './reference.js'

/**
 * Tells `callback` which children of `query` are written from now on, and no value. It is for pages
 * that show a part of a large place and read that again. The server joins what happens within a fifth of a
 * second. Resolves once the server follows it, with the function that ends it.
 *
 * After a lost connection there is a notice of all, because something may have been missed. A
 * denial rejects, and a later one goes to `cancel`. Other servers are `UNSUPPORTED`.
 */
export function onNotices(
  query: Query,
  callback: (notice: Notice) => unknown,
  cancel?: (error: Error) => unknown
): Promise<Unsubscribe> {
  return follow(
    query,
    'k',
    'nt',
    callback,
    (path, notice) => [{ path, run: () => void callback(notice as Notice) }],
    cancel
  )
}
