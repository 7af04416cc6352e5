import type { Core } from '../core/core.js'
import { type Answer, DogwoodError, errorOf } from '../core/errors.js'

/**
 * Asks for something that not every server has, once a connection has shown that this
 * one does: `feature` is its letter in the handshake. Resolves with the data of the answer.
 */
export async function ask(core: Core, feature: string, action: string, body: Record<string, unknown>) {
  await connected(core)
  const { connection } = core
  if (!connection.features.includes(feature)) {
    throw new DogwoodError('UNSUPPORTED', `UNSUPPORTED: the server does not have "${feature}"`)
  }
  const answer = await new Promise<Answer>(done => connection.send('get', action, body, done))
  if (answer.s !== 'ok') throw errorOf(answer)
  return answer.d
}

function connected({ connection, states }: Core): Promise<void> {
  return new Promise(resolve => {
    if (connection.state === 'connected') return resolve()
    const f = (state: string) => {
      if (state !== 'connected') return
      states.delete(f)
      resolve()
    }
    states.add(f)
    connection.hurry()
  })
}
