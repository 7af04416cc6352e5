import { CLOSED } from '../core/close.js'
import type { Core } from '../core/core.js'
import { type Answer, DogwoodError, errorOf } from '../core/errors.js'

/**
 * Resolves once there is a connection to a server that has a feature, by its letter in
 * the handshake; a server without it is `UNSUPPORTED`.
 */
export async function supports(core: Core, feature: string): Promise<void> {
  await connected(core)
  if (!core.connection.features.includes(feature)) {
    throw new DogwoodError('UNSUPPORTED', `UNSUPPORTED: the server does not have "${feature}"`)
  }
}

/** Sends a request that not every server supports. Resolves with the data of the answer. */
export async function ask(core: Core, feature: string, action: string, body: Record<string, unknown>) {
  await supports(core, feature)
  const answer = await new Promise<Answer>(done => core.link.send('get', action, body, done))
  if (answer.s !== 'ok') throw errorOf(answer)
  return answer.d
}

/** Resolves once there is a connection. Rejects when the database is refused or deleted. */
export function connected(core: Core): Promise<void> {
  const { connection, states } = core
  const { signal } = connection.closing
  return new Promise((resolve, reject) => {
    const { refusal } = connection
    if (refusal) return reject(errorOf(refusal))
    if (connection.state === 'connected') return resolve()
    const closed = () => reject(errorOf(CLOSED))
    const f = (state: string) => {
      if (state !== 'connected' && state !== 'refused') return
      states.delete(f)
      signal.removeEventListener('abort', closed)
      resolve(connected(core))
    }
    states.add(f)
    signal.addEventListener('abort', closed)
    connection.hurry()
  })
}
