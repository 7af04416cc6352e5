import type { Core } from '../core/core.js'
import { forget } from '../core/disconnect.js'
import { type Answer, errorOf } from '../core/errors.js'
import { nodeFromJSON } from '../core/node.js'
import type { Overlay } from '../core/overlay.js'
import { formatPath, parsePath } from '../core/path.js'
import { checkPath, checkValue } from '../core/validate.js'
import { supports } from './ask.js'
import { checked } from './database.js'
import { OnDisconnect } from './ondisconnect.js'
import type { DatabaseReference } from './reference.js'

class ConditionalOnDisconnect<T> extends OnDisconnect<T> {
  constructor(
    ref: DatabaseReference<T>,
    private readonly condition: { p: string; d: unknown }
  ) {
    super(ref)
  }

  protected override async plan(action: string, json: unknown, note: (plan: Overlay) => void): Promise<void> {
    const { db, path } = this.ref
    const core = db.store as Core
    if (action === 'oc') return super.plan(action, json, note)
    await supports(core, 'c')
    // Only the server knows whether the condition will hold, so the operation is not shown
    // locally. It replaces the operations planned before.
    const below = action === 'om' ? Object.keys(json as object) : ['']
    const body = { p: formatPath(path), d: json, if: this.condition }
    const answer = await new Promise<Answer>(done => core.link.send('disconnect', action, body, done))
    if (answer.s !== 'ok') throw errorOf(answer, body.p, `onDisconnect ${action === 'o' ? 'set' : 'update'}`)
    for (const key of below) forget(core.plan, [...path, ...parsePath(key)])
  }
}

/**
 * `onDisconnect` on condition that `value` is at a path below the location, "" for the
 * location itself, when this client is gone. Otherwise nothing is done: with an id of this
 * client there, its late end does not undo what a newer one has written. A server that
 * does not compare is asked for nothing: `UNSUPPORTED`.
 */
export function onDisconnectIf<T>(
  ref: DatabaseReference<T>,
  childPath: string,
  value: unknown
): OnDisconnect<T> {
  checkValue(value, childPath ? checkPath(childPath, checked(ref).path) : checked(ref).path)
  return new ConditionalOnDisconnect(ref, { p: childPath, d: nodeFromJSON(value).toJSON(true) })
}
