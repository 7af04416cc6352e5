import type { Core } from '../core/core.js'
import { Disconnect } from '../core/disconnect.js'
import { nodeFromJSON } from '../core/node.js'
import { checkPriority, checkUpdate, checkValue } from '../core/validate.js'
import type { DatabaseReference } from './reference.js'
import type { Changes, Writable } from './types.js'

const plans = new WeakMap<object, Disconnect>()

/** Writes that the server carries out when this client is gone. Each runs once. */
export class OnDisconnect<T = any> {
  private readonly plan: Disconnect

  /** @internal */
  constructor(private readonly ref: DatabaseReference<T>) {
    const core = ref.db.store as Core
    let plan = plans.get(core)
    if (!plan) plans.set(core, (plan = new Disconnect(core)))
    this.plan = plan
  }

  /** Takes back what was planned at this location and below. */
  cancel(): Promise<void> {
    return this.plan.cancel(this.ref.path)
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
    return this.plan.set(path, nodeFromJSON(value, priority))
  }

  update(values: Changes<T>): Promise<void> {
    const { path } = this.ref
    checkUpdate(values, path)
    return Object.keys(values).length ? this.plan.update(path, values) : Promise.resolve()
  }
}

export function onDisconnect<T>(ref: DatabaseReference<T>): OnDisconnect<T> {
  return new OnDisconnect(ref)
}
