// The newest records of a list, and then each that comes, told once.

import {
  type DatabaseReference,
  endBefore,
  get,
  limitToFirst,
  limitToLast,
  onValue,
  orderByKey,
  query,
  startAfter,
  type Unsubscribe
} from '@dogwood/client'
import { type Keyed, records } from './records.js'

/**
 * Calls `next` with the last `count` records of a list and with each that is added, once,
 * until the returned function is called. What comes in one state is in the order of the
 * keys; if more came than `count`, since this client was offline, the rest is read.
 */
export function tail<T extends object>(
  list: DatabaseReference<Record<string, T>>,
  count: number,
  next: (record: Keyed<T>) => unknown,
  cancel?: (error: Error) => unknown
): Unsubscribe {
  const seen = new Seen(count)
  let stopped = false
  let reading: Promise<void> | undefined // what has to be told first
  const end = () => {
    stopped = true
    stop()
  }
  const fail = (error: Error) => {
    if (stopped) return
    end()
    cancel?.(error)
  }
  const stop = onValue(
    query(list, orderByKey(), limitToLast(count)),
    state => {
      const window = records<T>(state)
      const fresh = window.filter(record => seen.isNew(record.key))
      const gap = fresh.length > 1 ? seen.gap(window) : undefined
      seen.note(window)
      const tell = (all: Keyed<T>[]) => {
        for (const record of all) if (!stopped) next(record)
      }
      if (!gap && !reading) return tell(fresh)
      const mine = Promise.all([gap ? between(list, gap, count) : [], reading])
        .then(([missed]) => tell([...missed, ...fresh]))
        .catch(fail)
        .finally(() => {
          if (reading === mine) reading = undefined
        })
      reading = mine
    },
    fail
  )
  return end
}

/** Keys between two others, but for those that were told. */
interface Gap {
  after: string
  before: string
  told: ReadonlySet<string>
}

/** What was seen of a list through a window on its last records. */
class Seen {
  private began = false
  private told: ReadonlySet<string> = new Set()
  private lowest = '' // records below are old, also when they come into the window again

  constructor(private readonly count: number) {}

  isNew(key: string): boolean {
    return key >= this.lowest && !this.told.has(key)
  }

  /** What may have gone through unseen until the window was this one. */
  gap(window: readonly Keyed<object>[]): Gap | undefined {
    if (!this.began || window.length < this.count) return undefined
    return { after: this.lowest, before: window[0]!.key, told: this.told }
  }

  note(window: readonly Keyed<object>[]) {
    this.began = true
    this.told = new Set(window.map(record => record.key))
    const first = window[0]?.key ?? ''
    if (window.length === this.count && first > this.lowest) this.lowest = first
  }
}

/** Reads what is in a gap, page by page. */
async function between<T extends object>(
  list: DatabaseReference<Record<string, T>>,
  { after, before, told }: Gap,
  count: number
): Promise<Keyed<T>[]> {
  const found: Keyed<T>[] = []
  for (let from = after; ; ) {
    const bounds = [...(from ? [startAfter(from)] : []), endBefore(before), limitToFirst(count)]
    const page = records<T>(await get(query(list, orderByKey(), ...bounds)))
    found.push(...page.filter(record => !told.has(record.key)))
    if (page.length < count) return found
    from = page[page.length - 1]!.key
  }
}
