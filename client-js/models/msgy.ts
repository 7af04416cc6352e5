// Msgy: mail between users and groups, with keys that every client can compute. The rules
// are those of testdata/models/msgy; docs/models/msgy.md explains them.

import {
  type Database,
  get,
  limitToLast,
  onValue,
  orderByValue,
  query,
  ref,
  serverTimestamp,
  type Unsubscribe,
  update
} from '@dogwood/client'
import { allJoined, guard, isDenied, joined, type Keyed, keyed, keys, read } from './records.js'

export interface User {
  /** 3 to 32 of a-z, 0-9 and _; also the key of the record. */
  user_name: string
  full_name: string
  email: string
  /** The account that the name belongs to. */
  uid: string
}

export interface Msg {
  sender: string
  /** A user, or a group that the sender is in. */
  recipient: string
  /** By the clock of the sender: `2014-03-06T02:05:13.223556Z`. */
  created: string
  /** `2014-03-06Z` */
  day: string
  text: string
  /** By the clock of the server, in milliseconds since 1970. */
  at: number
}

export type TimelineType = 'Inbox' | 'Sent'

/** Keys of messages with the times when they were made. */
type Timeline = Record<string, string>

/** The data of the model. */
export interface MsgyData {
  users: Record<string, User>
  uids: Record<string, string>
  groups: Record<string, { members: Record<string, true> }>
  msgs: Record<string, Msg>
  timelines: Record<string, Record<TimelineType, Record<string, Timeline>>>
  recent: Record<string, Record<TimelineType, Timeline>>
}

/** The key of a message: keys cannot have points, and ISO 8601 allows a comma. */
export const keyOf = (sender: string, created: string): string => `${sender}_${created.replace('.', ',')}`

/** The day of a message. */
export const dayOf = (created: string): string => `${created.slice(0, 10)}Z`

/** The order of a timeline; messages of the same time are in that of their keys. */
const byTime = (a: Keyed<Msg>, b: Keyed<Msg>): number =>
  `${a.created} ${a.key}` < `${b.created} ${b.key}` ? -1 : 1

let ticks = 0

/** The time now, with microseconds that differ each time. */
export function timeNow(): string {
  ticks = (ticks + 1) % 1000
  return new Date().toISOString().replace('Z', `${String(ticks).padStart(3, '0')}Z`)
}

/** How mail is kept. */
export interface MsgyOptions {
  /** The server keeps the timelines, by the data document of the model. */
  declared?: boolean
}

/** The mail of one user, by name, who has to be signed in with the account of that name. */
export class Msgy {
  constructor(
    private readonly db: Database<MsgyData>,
    readonly me: string,
    private readonly options: MsgyOptions = {}
  ) {}

  /** The user of a name. */
  user(name: string): Promise<User | null> {
    return read(ref<User>(this.db, `users/${name}`))
  }

  /**
   * Takes a name for the account that is signed in. Returns false if another account has
   * it; the rules decide that, so two who try at once cannot both win.
   */
  async saveUser(user: User): Promise<boolean> {
    try {
      await update(ref(this.db), {
        [`users/${user.user_name}`]: user,
        [`uids/${user.uid}`]: user.user_name
      })
      return true
    } catch (error) {
      const there = isDenied(error) ? await this.user(user.user_name) : null
      if (!there) throw error
      return there.uid === user.uid // an earlier try, whose answer was lost
    }
  }

  /**
   * Sends a text to a user or a group: the message and its four places in timelines,
   * all or none. Returns its key. To send the same again does no harm.
   */
  async postMessage(recipient: string, text: string, created = timeNow()): Promise<string> {
    const sender = this.me
    const day = dayOf(created)
    const key = keyOf(sender, created)
    const message = { [`msgs/${key}`]: { sender, recipient, created, day, text, at: serverTimestamp() } }
    const copies = {
      [`timelines/${sender}/Sent/${day}/${key}`]: created,
      [`timelines/${recipient}/Inbox/${day}/${key}`]: created,
      [`recent/${sender}/Sent/${key}`]: created,
      [`recent/${recipient}/Inbox/${key}`]: created
    }
    try {
      await update(ref(this.db), this.options.declared ? message : { ...message, ...copies })
    } catch (error) {
      const there = isDenied(error) ? await this.message(key).catch(() => null) : null
      if (there?.recipient !== recipient || there.text !== text) throw error
    }
    return key
  }

  /** A message that this user has sent or received, also as member of a group. */
  message(key: string): Promise<Msg | null> {
    return read(ref<Msg>(this.db, `msgs/${key}`))
  }

  /** The messages of one day, the oldest first. `owner` may be a group of this user. */
  async timeline(type: TimelineType, day: string, owner = this.me): Promise<Keyed<Msg>[]> {
    const list = ref(this.db, `timelines/${owner}/${type}/${day}`)
    return keyed(await allJoined<Msg>(this.db, list, 'msgs/$key')).sort(byTime)
  }

  /** The days on which there are messages. */
  async days(type: TimelineType, owner = this.me): Promise<string[]> {
    return keys(await get(ref(this.db, `timelines/${owner}/${type}`)))
  }

  /** The last messages of any day, the oldest first. */
  async last(type: TimelineType, count = 10, owner = this.me): Promise<Keyed<Msg>[]> {
    const list = ref(this.db, `recent/${owner}/${type}`)
    return keyed(await joined<Msg>(this.db, query(list, orderByValue(), limitToLast(count)), 'msgs/$key'))
  }

  /** The last messages that this user has sent, the oldest first. */
  lastSent(count = 10): Promise<Keyed<Msg>[]> {
    return this.last('Sent', count)
  }

  /**
   * Calls `next` with the key of the newest message received, and with that of each that
   * comes, once, until the returned function is called. What comes at once is in the order
   * of the senders' times. `cancel` hears if the inbox cannot be read any more.
   *
   * Those times are what an inbox is ordered by, and no sender need have the right one. So
   * this listens to the keys of the whole inbox: a new one may be anywhere among them.
   */
  watchInbox(next: (key: string) => unknown, cancel?: (error: Error) => unknown): Unsubscribe {
    const inbox = query(ref(this.db, `recent/${this.me}/Inbox`), orderByValue())
    let seen: Set<string> | undefined
    let stopped = false
    const stop = onValue(
      inbox,
      state => {
        const all = keys(state)
        const fresh = seen ? all.filter(key => !seen!.has(key)) : all.slice(-1)
        seen = new Set(all)
        for (const key of fresh) guard(() => !stopped && next(key))
      },
      cancel
    )
    return () => {
      stopped = true
      stop()
    }
  }
}
