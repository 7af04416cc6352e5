import type { Core } from '../core/core.js'
import { signIn } from '../core/online.js'
import type { Database } from './database.js'

/**
 * Signs in and out as `firebase/auth` does, if that is where the tokens of the app come from. A
 * connection asks for its token when it is made; this is for what happens later.
 */
export function followAuth({ app, store }: Database): void {
  const { connection, target } = store as Core
  const { container, options } = app as { container?: any; options: { token?: unknown } }
  if (!container || options.token) return
  const { signal } = connection.closing
  const own = target.token
  const changed = (token: string | null) => {
    if (target.token !== own) return // the application has signed in with another token, or out
    if (connection.state === 'offline') connection.given = false
    else if (token !== (connection.token ?? null)) signIn(connection, token)
  }
  container
    .getProvider('auth-internal')
    .get()
    .then((auth: any) => {
      if (signal.aborted) return
      auth.addAuthTokenListener(changed)
      signal.addEventListener('abort', () => auth.removeAuthTokenListener(changed))
    })
}
