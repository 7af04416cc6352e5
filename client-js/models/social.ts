// Social: short statuses, followers, and timelines that are written when a user posts,
// so that reading one is cheap. The rules are those of testdata/models/social;
// docs/models/social.md explains them.

import {
  type Database,
  endBefore,
  get,
  getAll,
  getCount,
  increment,
  keysOf,
  limitToFirst,
  limitToLast,
  orderByValue,
  type Query,
  query,
  ref,
  runTransaction,
  type ServerValue,
  serverTimestamp,
  startAfter,
  type Unsubscribe,
  update
} from '@dogwood/client'
import {
  guard,
  isOverwritten,
  type Keyed,
  keyed,
  keys,
  read,
  retry,
  serverTime,
  stored,
  valuesOf
} from './records.js'
import type { Place, SocialData, Status, Timed, User } from './social-data.js'
import { fromTime, type List, tail } from './tail.js'

export { type Deleted, type Filter, firehose, follow, sample, track, within } from './firehose.js'
export type { Place, SocialData, Status, User } from './social-data.js'

/** A page of a timeline. */
export interface Page {
  /** The newest first. */
  statuses: Keyed<Status>[]
  /** What to ask for the next, older page with; undefined if there is none. */
  next?: Place
}

/** How many followers get a status in one write. */
const PASS = 1000
/** Who has followed for so long is on the first page of followers: see `settledFollowers`. */
const SETTLED = 10_000
/** Nobody. */
const START: Place = { time: 0, key: '' }
/** How many statuses a home timeline keeps. */
const HOME = 1000
const PAGE = 30
/** The counters of a user who has done nothing yet. */
const none = { followers: 0, following: 0, posts: 0 }

/** Reports whether a login is free, in upper and lower case. Needs no user. */
export async function loginFree(db: Database<SocialData>, login: string): Promise<boolean> {
  return !(await get(ref(db, `logins/${login.toLowerCase()}`))).exists()
}

/** Takes the next number for a user: the user signs in as `u5` for 5. */
export async function nextUserId(db: Database<SocialData>): Promise<number> {
  const { snapshot } = await runTransaction(ref<number>(db, 'counters/userId'), id => (id ?? 0) + 1)
  return snapshot.val()!
}

/** How the network is kept. */
export interface SocialOptions {
  /**
   * The server keeps logins, followers, profiles and the counters, and bounds homes, by the
   * data document of the model. Statuses are sent to homes as without it.
   */
  declared?: boolean
}

/** The network as one user sees it, who has to be signed in as `me`. */
export class Social {
  constructor(
    private readonly db: Database<SocialData>,
    readonly me: string,
    private readonly options: SocialOptions = {}
  ) {}

  /** Makes this user. The rules refuse a login that is taken, in upper or lower case. */
  createUser(login: string, name: string): Promise<void> {
    const user = { login, id: Number(this.me.slice(1)), name, signup: serverTimestamp() }
    const kept = { [`logins/${login.toLowerCase()}`]: this.me }
    return update(ref(this.db), {
      [`users/${this.me}`]: { ...user, ...(!this.options.declared && none) },
      ...(!this.options.declared && kept)
    })
  }

  /** A user, by default this one. A counter that the server keeps is absent at 0. */
  async user(uid = this.me): Promise<User | null> {
    const user = await read(ref<User>(this.db, `users/${uid}`))
    return user && { ...none, ...user }
  }

  /**
   * Posts a status, and returns its key when all followers have it. The first of them get
   * it in the same write, the others in further ones; if this client ends in between,
   * `resume` goes on.
   */
  async postStatus(message: string, location?: string): Promise<string> {
    const { login } = (await this.user())!
    const posted = serverTimestamp()
    const sid = await retry(
      async () => ({
        id: (await this.lastStatusId()) + 1,
        first: await this.settledFollowers()
      }),
      async ({ id, first }) => {
        // The number is taken in the same write: the loser of a race tries the next one.
        const sid = `s${id}`
        await update(ref(this.db), {
          'counters/statusId': id,
          [`statuses/${sid}`]: { message, posted, id, uid: this.me, login, ...(location && { location }) },
          ...this.counted(sid, posted, 1),
          [`home/${this.me}/${sid}`]: posted,
          ...this.pass(sid, first, posted)
        })
        return sid
      }
    )
    await this.send(sid)
    return sid
  }

  // The place of a status in the profile and the counter, unless the server keeps them.
  private counted(sid: string, posted: ServerValue | null, step: 1 | -1) {
    if (this.options.declared) return {}
    return {
      [`profile/${this.me}/${sid}`]: posted,
      [`users/${this.me}/posts`]: increment(step),
      [`users/${this.me}/lastStatus`]: sid
    }
  }

  /** Sends what this user has posted, but not all followers have. Returns the statuses. */
  async resume(): Promise<string[]> {
    const sids = keys(await get(ref(this.db, `fanout/${this.me}`)))
    for (const sid of sids) await this.send(sid)
    return sids
  }

  // Sending a status is a job at fanout/$author/$status, which is there from the write
  // that posts it until all followers have it. Its value is the last of them who has.
  private job(sid: string) {
    return ref<Place>(this.db, `fanout/${this.me}/${sid}`)
  }

  // pass returns an update that sends a status to some followers. The job moves on in the
  // same write, by the rules only forward, so no follower gets it twice.
  private pass(sid: string, { followers, last }: Followers, posted: number | ServerValue) {
    return { [`fanout/${this.me}/${sid}`]: last, ...inHomes(followers, sid, posted) }
  }

  // What the server has: a post that loses the race for a number shows it as taken here.
  private async lastStatusId(): Promise<number> {
    const [last] = await stored(this.db, ref(this.db, 'counters/statusId'))
    return last!.val() ?? 0
  }

  // send makes passes until the job is gone.
  private async send(sid: string): Promise<void> {
    for (let open = true; open; ) {
      // A follower who leaves meanwhile makes the write fail.
      open = await retry(
        () => this.turn(sid),
        async ({ after, posted, next }) => {
          if (!after) return false
          if (posted === null || !next.followers.length) return !(await this.close(sid, after))
          await update(ref(this.db), this.pass(sid, next, posted))
          return true
        }
      )
    }
  }

  // turn reads what the next pass of a job depends on.
  private async turn(sid: string) {
    const [job, status] = await stored(this.db, this.job(sid), ref(this.db, `statuses/${sid}/posted`))
    const after: Place | null = job!.val()
    const posted: number | null = status!.val()
    return { after, posted, next: await this.followers(after ?? START) }
  }

  // close ends a job that nobody else has moved on, and reports whether it did. A post of
  // this client that tries the same number shows a job there, and may end the transaction.
  private async close(sid: string, at: Place): Promise<boolean> {
    try {
      const { committed } = await runTransaction(this.job(sid), now =>
        !now || (now.key === at.key && now.time === at.time) ? null : undefined
      )
      return committed
    } catch (error) {
      if (isOverwritten(error)) return false
      throw error
    }
  }

  // followers returns the next ones, those first who have followed for the longest.
  private followers(after: Place): Promise<Followers> {
    const list = ref<Timed>(this.db, `followers/${this.me}`)
    const from = after.key ? [startAfter(after.time, after.key)] : []
    return page(query(list, orderByValue(), ...from, limitToFirst(PASS)), after)
  }

  // Those whom a status is posted with are read before it is there. Whoever follows in
  // the very millisecond of the last one would be on no page, so those who have just come
  // are left to the next one.
  private async settledFollowers(): Promise<Followers> {
    const list = ref<Timed>(this.db, `followers/${this.me}`)
    const time = (await serverTime(this.db)) - SETTLED
    return page(query(list, orderByValue(), endBefore(time), limitToFirst(PASS)), START)
  }

  /** Deletes a status of this user. Homes that still name it are cleaned by their owners. */
  async deleteStatus(sid: string): Promise<void> {
    await retry(
      () => this.followers(START),
      ({ followers }) =>
        update(ref(this.db), {
          [`statuses/${sid}`]: null,
          ...this.counted(sid, null, -1),
          [`fanout/${this.me}/${sid}`]: null,
          ...inHomes([this.me, ...followers], sid, null)
        })
    )
  }

  /** Follows a user, whose newest statuses come into the home of this one. */
  async follow(uid: string): Promise<void> {
    const merged = await retry(
      () => this.newestOf(uid),
      async newest => {
        await this.setEdge(uid, serverTimestamp(), 1, newest)
        return newest
      }
    )
    await this.catchUp(uid, merged)
    if (!this.options.declared) await this.trimHome()
  }

  // catchUp enters what a user has posted since their statuses were read: such a status may
  // have been sent to all followers before this user was one.
  private catchUp(uid: string, merged: Timed): Promise<void> {
    return retry(
      async () => Object.entries(await this.newestOf(uid)).filter(([sid]) => !(sid in merged)),
      missing => this.setHome(Object.fromEntries(missing))
    )
  }

  /** Leaves a user, whose statuses leave the home of this one. */
  async unfollow(uid: string): Promise<void> {
    await this.setEdge(uid, null, -1, {})
    const home = ref<Timed>(this.db, `home/${this.me}`)
    const { results } = await getAll(this.db, [keysOf<string>(home, 'statuses/$key/uid')])
    const authors = [...results[0].each].map(([sid, { snapshot }]) => [sid, snapshot.val()] as const)
    // Also those that were deleted.
    const gone = authors.filter(([, author]) => author === null || author === uid)
    await this.setHome(Object.fromEntries(gone.map(([sid]) => [sid, null])))
  }

  // Both lists, both counters: all or none. One list is enough if the server keeps the rest.
  private setEdge(uid: string, time: ServerValue | null, step: 1 | -1, home: Timed): Promise<void> {
    const { me } = this
    const kept = {
      [`followers/${uid}/${me}`]: time,
      [`users/${me}/following`]: increment(step),
      [`users/${me}/lastEdge`]: uid,
      [`users/${uid}/followers`]: increment(step)
    }
    return update(ref(this.db), {
      [`following/${me}/${uid}`]: time,
      ...(!this.options.declared && kept),
      ...Object.fromEntries(Object.entries(home).map(([sid, posted]) => [`home/${me}/${sid}`, posted]))
    })
  }

  private async newestOf(uid: string): Promise<Timed> {
    const list = ref<Timed>(this.db, `profile/${uid}`)
    return (await read(query(list, orderByValue(), limitToLast(HOME)))) ?? {}
  }

  private setHome(changes: Record<string, number | null>): Promise<void> {
    return update(ref<Record<string, number | null>>(this.db, `home/${this.me}`), changes)
  }

  /** What those whom this user follows have posted, and the user. */
  homeTimeline(before?: Place, count = PAGE): Promise<Page> {
    return this.timeline(`home/${this.me}`, before, count)
  }

  /** What a user has posted. */
  profileTimeline(uid = this.me, before?: Place, count = PAGE): Promise<Page> {
    return this.timeline(`profile/${uid}`, before, count)
  }

  // Statuses that were deleted are left out.
  private async timeline(path: string, before: Place | undefined, count: number): Promise<Page> {
    const to = before ? [endBefore(before.time, before.key)] : []
    const list = query(ref<Timed>(this.db, path), orderByValue(), ...to, limitToLast(count))
    const { results } = await getAll(this.db, [list, keysOf<Status>(list, 'statuses/$key')])
    const [{ snapshot: times, error }, { each }] = results
    if (error) throw error
    const statuses = keyed(valuesOf(each)).reverse()
    const [key] = each.keys()
    if (key === undefined || each.size < count) return { statuses }
    return { statuses, next: { key, time: times.child(key).val()! } }
  }

  /**
   * Takes the oldest statuses out of the home of this user, so that `max` are left. With
   * `declared` the server leaves 1000 by itself.
   */
  async trimHome(max = HOME): Promise<void> {
    const home = ref<Timed>(this.db, `home/${this.me}`)
    const excess = (await getCount(home)) - max
    if (excess <= 0) return
    const oldest = keys(await get(query(home, orderByValue(), limitToFirst(excess))))
    await this.setHome(Object.fromEntries(oldest.map(sid => [sid, null])))
  }

  /**
   * Calls `next` with the newest status of a user and with each that comes, once and in the
   * order of their times, until the returned function is called. `cancel` hears, once, if
   * they cannot be read any more.
   */
  stream(
    uid: string,
    next: (status: Keyed<Status>) => unknown,
    cancel?: (error: Error) => unknown
  ): Unsubscribe {
    const profile = ref<Timed>(this.db, `profile/${uid}`)
    const list: List<number> = {
      db: this.db,
      newest: query(profile, orderByValue(), limitToLast(1)),
      since: time => query(profile, orderByValue(), ...fromTime(time)),
      time: posted => posted,
      mine: () => uid === this.me
    }
    let stopped = false
    let reading = Promise.resolve() // of the statuses before
    const tell = async (key: string) => {
      const status = await read(ref<Status>(this.db, `statuses/${key}`))
      if (status && !stopped) guard(() => next({ ...status, key })) // or it is deleted
    }
    const end = () => {
      stopped = true
      stop()
    }
    const fail = (error: Error) => {
      if (stopped) return
      end()
      guard(() => cancel?.(error))
    }
    const stop = tail(
      list,
      ({ key }) => {
        reading = reading.then(() => (stopped ? undefined : tell(key!))).catch(fail)
      },
      fail
    )
    return end
  }
}

/** Some followers, and where their list goes on. */
interface Followers {
  followers: string[]
  last: Place
}

async function page(list: Query<Timed>, before: Place): Promise<Followers> {
  const found = await get(list)
  const followers = keys(found)
  const key = followers.at(-1)
  return { followers, last: key === undefined ? before : { key, time: found.child(key).val()! } }
}

// The places of a status in homes.
function inHomes(uids: string[], sid: string, posted: number | ServerValue | null) {
  return Object.fromEntries(uids.map(uid => [`home/${uid}/${sid}`, posted]))
}
