import { invalid } from './errors.js'
import { compareKeys } from './key.js'
import type { Entry } from './node.js'
import { compareValues, type Index, KEY, PRIORITY } from './order.js'
import type { Scalar } from './scalar.js'
import { checkPriority } from './validate.js'

/** Sorts before every key, as the key of a bound: "from the first child of that value". */
export const MIN_KEY = '[MIN_NAME]'

/** Sorts after every key, as the key of a bound: "to the last child of that value". */
export const MAX_KEY = '[MAX_NAME]'

/**
 * One end of a query's range. It knows how to compare and what the server calls
 * it, so that a page whose queries have no bounds does not load any of that.
 */
export class Bound {
  constructor(
    /** `end` is the far end, in the order of the index. */
    private readonly side: 'start' | 'end',
    readonly value: Scalar | null | readonly (Scalar | null)[],
    /** Divides the children that have this value. Without it, all of them are inside. */
    readonly key?: string,
    /** Leaves its own position out. */
    readonly open?: boolean
  ) {}

  /** Throws if it does not fit the order of the query. */
  check(index: Index): void {
    const { value, key } = this
    if (index === KEY) {
      if (key !== undefined) invalid('bounds of orderByKey have no second key')
      if (typeof value !== 'string') invalid('bounds of orderByKey are strings')
    } else if (index === PRIORITY) checkPriority(value)
    else index.check?.(value, key) // the server refuses a list for any other order
  }

  /** Reports whether a child is on the inner side. */
  contains(index: Index, [key, node]: Entry): boolean {
    const order =
      index === KEY
        ? compareKeys(key, this.value as string)
        : compareValues(index.of(node), this.value) || compareToKey(key, this.key ?? this.farthest)
    const inward = this.side === 'end' ? -order : order
    return this.open ? inward > 0 : inward >= 0
  }

  private get farthest(): string {
    return this.side === 'end' ? MAX_KEY : MIN_KEY
  }

  /** Its fields in the query object of a listen (protocol §5.2). */
  get wire(): Record<string, unknown> {
    const { value, key, open } = this
    const named = key !== undefined
    if (this.side === 'start') return { sp: value, ...(named && { sn: key }), sin: !open }
    return { ep: value, ...(named && { en: key }), ein: !open }
  }
}

/** Compares the key of a child with that of a bound. */
export function compareToKey(key: string, bound: string): number {
  return bound === MIN_KEY ? 1 : bound === MAX_KEY ? -1 : compareKeys(key, bound)
}
