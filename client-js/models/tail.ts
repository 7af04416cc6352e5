// The newest children of a list, and then each that comes, told once.

import {
  type Database,
  type DataSnapshot,
  getAll,
  limitToLast,
  onValue,
  type Query,
  type QueryConstraint,
  query,
  startAt,
  type Unsubscribe
} from '@dogwood/client'
import { guard, keys } from './records.js'

/** A list whose children have the time at which the server took them; its rules see to that. */
export interface List<T> {
  readonly db: Database
  /** What is told first. */
  readonly newest: Query<Record<string, T>>
  /** All children in the order of their times, or those from a time on. */
  since(time?: number): Query<Record<string, T>>
  time(child: T): number
  /** Reports whether this client may have written a child, which the server need not have yet. */
  mine(child: T): boolean
}

/** Begins a query in the order of times at one of them, if there is one. */
export const fromTime = (time: number | undefined): QueryConstraint[] =>
  time === undefined ? [] : [startAt(time)]

/** So many children come at least until a listener begins at the last of them. */
const MIN_VIEW = 50

/**
 * Calls `next` with the newest children of a list and with each that comes, once, until the
 * returned function is called. `cancel` is called once, if the list cannot be listened to
 * any more.
 */
export function tail<T>(
  list: List<T>,
  next: (child: DataSnapshot<T>) => unknown,
  cancel?: (error: Error) => unknown
): Unsubscribe {
  const tail = new Tail(list, next, cancel)
  void tail.begin()
  return () => tail.end()
}

/**
 * A Tail listens to what the server took since a time, and not to a window on the last
 * children: one that was written long ago and comes late has a low key, and own ones that
 * the server does not have yet push others out of a window.
 */
class Tail<T> {
  private unlisten: Unsubscribe = () => {}
  private stopped = false
  private reading = false
  private from?: number // all that the server took before is told
  // What was told or seen again, since this listener began and since the one before did.
  private told = new Map<string, T>()
  private earlier: ReadonlyMap<string, T> = new Map()
  private fresh = 0 // was told since this listener began
  private most = MIN_VIEW

  constructor(
    private readonly list: List<T>,
    private readonly next: (child: DataSnapshot<T>) => unknown,
    private readonly cancel?: (error: Error) => unknown
  ) {}

  /** Shows what is known at once, then what the server has, and listens from there on. */
  async begin() {
    const { list } = this
    try {
      this.listen(list.newest, state => this.tell(state))
      const [newest, last] = await this.read(list.newest, query(list.since(), limitToLast(1)))
      this.tell(newest!)
      this.follow(this.start(newest!, last!))
    } catch (error) {
      this.fail(error as Error)
    }
  }

  // start is the time of the last child. If older ones were told that were the newest when
  // this client was here before, it is theirs: much may have come since.
  private start(newest: DataSnapshot, last: DataSnapshot): number | undefined {
    const { time, mine } = this.list
    const there = new Set(keys(newest))
    const gone = [...this.told].filter(([key, child]) => !there.has(key) && !mine(child))
    const times = [...children<T>(last), ...gone.map(([, child]) => child)].map(time)
    this.most = Math.max(MIN_VIEW, there.size)
    return times.length ? Math.min(...times) : undefined
  }

  // follow listens to what comes from a time on.
  private follow(from: number | undefined) {
    const { list } = this
    this.from = from
    this.earlier = this.told
    this.told = new Map()
    this.fresh = 0
    this.listen(list.since(from), state => {
      for (const child of this.tell(state)) if (!list.mine(child)) this.passed(child)
      if (this.fresh > this.most) void this.shorten()
    })
  }

  // shorten listens from the last child on that the server has.
  private async shorten() {
    if (this.reading || this.stopped) return
    this.reading = true
    try {
      const [state] = await this.read(this.list.since(this.from))
      this.tell(state!)
      for (const child of children<T>(state!)) this.passed(child)
      this.follow(this.from)
    } catch {
      // The listener goes on: it hears why itself, or the next child is another occasion.
    } finally {
      this.reading = false
    }
  }

  // passed notes that all is told that the server took before a child.
  private passed(child: T) {
    this.from = Math.max(this.from ?? 0, this.list.time(child))
  }

  // tell tells the children that are new, and returns them.
  private tell(state: DataSnapshot): T[] {
    const news: T[] = []
    state.forEach(child => {
      const { key } = child
      const known = this.told.has(key) || this.earlier.has(key)
      if (this.told.has(key)) return
      this.told.set(key, child.val() as T)
      if (known) return
      news.push(child.val() as T)
      this.fresh++
      guard(() => !this.stopped && this.next(child as DataSnapshot<T>))
    })
    return news
  }

  // read reads queries in one state of the server, without what is on its way there.
  private async read(...queries: Query[]): Promise<DataSnapshot[]> {
    const { results } = await getAll(this.list.db, queries)
    return results.map(({ snapshot, error }) => {
      if (error) throw error
      return snapshot
    })
  }

  // listen takes the place of the listener before when it has something to show, so that
  // own children are told at once.
  private listen(query: Query, use: (state: DataSnapshot) => void) {
    if (this.stopped) return
    let before: Unsubscribe | undefined = this.unlisten
    const alone = () => {
      before?.()
      before = undefined
    }
    const stop = onValue(
      query,
      state => {
        alone()
        if (!this.stopped) use(state)
      },
      error => this.fail(error)
    )
    this.unlisten = () => {
      alone()
      stop()
    }
    if (this.stopped) this.unlisten()
  }

  private fail(error: Error) {
    if (this.stopped) return
    this.end()
    guard(() => this.cancel?.(error))
  }

  end() {
    this.stopped = true
    this.unlisten()
  }
}

function children<T>(state: DataSnapshot): T[] {
  const found: T[] = []
  state.forEach(child => {
    found.push(child.val() as T)
  })
  return found
}
