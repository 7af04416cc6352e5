import type { Core } from '../core/core.js'
import { forget, plan } from '../core/disconnect.js'
import { nodeFromJSON } from '../core/node.js'
import { cover, coverAll, type Overlay } from '../core/overlay.js'
import { checkPriority, checkUpdate, checkValue } from '../core/validate.js'
import { checked } from './database.js'
import type { DatabaseReference } from './reference.js'
import type { Changes, ChangesAt, Writable } from './types.js'

/** Writes that the server carries out when this client is gone. Each runs once. */
export class OnDisconnect<T = any> {
  /** @internal */
  constructor(protected readonly ref: DatabaseReference<T>) {}

  /** Takes back what was planned at this location and below. */
  cancel(): Promise<void> {
    return this.plan('oc', null, plan => forget(plan, this.ref.path))
  }

  remove(): Promise<void> {
    return this.set(null as Writable<T>)
  }

  set(value: Writable<T>): Promise<void> {
    return this.setWithPriority(value, null)
  }

  setWithPriority(value: Writable<T>, priority: number | string | null): Promise<void> {
    const { path } = this.ref
    checkValue(value, path)
    checkPriority(priority)
    const node = nodeFromJSON(value, priority)
    return this.plan('o', node.toJSON(true), plan => cover(plan, path, node))
  }

  update<V extends object = Changes<T>>(values: V & ChangesAt<T, V>): Promise<void> {
    const { path } = this.ref
    if (!checkUpdate(values, path).length) return Promise.resolve()
    return this.plan('om', values, plan => coverAll(plan, path, values))
  }

  /** @internal */
  protected plan(action: string, json: unknown, note: (plan: Overlay) => void): Promise<void> {
    const { db, path } = this.ref
    return plan(db.store as Core, action, path, json, note)
  }
}

export function onDisconnect<T>(ref: DatabaseReference<T>): OnDisconnect<T> {
  return new OnDisconnect(checked(ref))
}
