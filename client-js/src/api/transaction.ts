import type { Core } from '../core/core.js'
import { Transactions } from '../core/transactions.js'
import { checkCallback } from '../core/validate.js'
import { checked } from './database.js'
import { onValue } from './listen.js'
import type { DatabaseReference } from './reference.js'
import { DataSnapshot } from './snapshot.js'
import type { Writable } from './types.js'

export interface TransactionOptions {
  /** False shows nothing before the transaction is committed. */
  readonly applyLocally?: boolean
}

export class TransactionResult<T = any> {
  /** @internal */
  constructor(
    /** False if the update function returned undefined. */
    readonly committed: boolean,
    readonly snapshot: DataSnapshot<T>
  ) {}

  toJSON(): object {
    return { committed: this.committed, snapshot: this.snapshot.toJSON() }
  }
}

/**
 * Replaces a value by what `update` makes of it, and calls it again when
 * another client was faster. `update` first sees what is known here, perhaps
 * null; undefined as its result ends the transaction.
 */
export function runTransaction<T>(
  ref: DatabaseReference<T>,
  update: (value: T | null) => Writable<T> | undefined | void,
  options: TransactionOptions = {}
): Promise<TransactionResult<T>> {
  const { path } = checked(ref)
  checkCallback(update)
  const core = ref.db.store as Core
  const transactions = (core.transactions ??= new Transactions(core)) as Transactions
  return new Promise((resolve, reject) => {
    const ended = core.link.begin?.(path)
    transactions.start({
      path,
      update,
      visible: options.applyLocally ?? true,
      unwatch: onValue(ref, () => {}),
      done: (error, node, committed) => {
        ended?.()
        if (error) reject(error)
        else resolve(new TransactionResult(committed, new DataSnapshot(node, ref)))
      }
    })
  })
}
