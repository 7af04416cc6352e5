// Im: groups with a bounded number for each owner, private conversations, and messages
// by month. Nothing is read without a key that says where it is, or without a limit.
// The rules are those of testdata/models/im; docs/models/im.md explains them.

import {
  type Database,
  endBefore,
  get,
  increment,
  limitToFirst,
  limitToLast,
  onChildAdded,
  orderByChild,
  orderByKey,
  push,
  type QueryConstraint,
  query,
  ref,
  runTransaction,
  type ServerValue,
  serverTimestamp,
  set,
  startAfter,
  startAt,
  type Unsubscribe,
  update
} from '@dogwood/client'
import { watchMonth } from './month.js'
import { type Keyed, keys, read, records, retry, serverTime } from './records.js'

export type Role = 'owner' | 'admin' | 'member'

export interface Member {
  role: Role
  joined: number
}

export interface Group {
  owner: string
  name: string
  /** In milliseconds since 1970, by the clock of the server; so are all times. */
  created: number
}

export interface Message {
  from: string
  text: string
  sent: number
  /** Those who show messages hide it from then on. */
  deletedAt?: number
}

export interface FriendRequest {
  from: string
  text?: string
  created: number
  state: 'pending' | 'accepted' | 'declined'
}

/** A month of messages. */
export interface Bucket {
  from: number
  to: number
  tier: 'hot' | 'cold'
}

export type Conversation = { kind: 'private'; a: string; b: string } | { kind: 'group'; group: string }

/** The data of the model. */
export interface ImData {
  buckets: Record<string, Bucket>
  users: Record<string, { name: string; created: number }>
  groups: Record<string, Group>
  groupMembers: Record<string, Record<string, Member>>
  userGroups: Record<string, Record<string, number>>
  ownedGroups: Record<string, Record<string, number>>
  stats: Record<string, { ownedGroups: number; lastOwned: string }>
  versions: Record<string, { groups: number }>
  conversations: Record<string, Conversation>
  messages: Record<string, Record<string, Record<string, Message>>>
  friendRequests: Record<string, Record<string, FriendRequest>>
  sentRequests: Record<string, Record<string, string>>
  limits: { ownedGroups: number }
  config: { optionalIndexes: { sentRequests: boolean } }
}

/** A message with the month it is in. */
export type Placed = Keyed<Message> & { readonly bucket: string }

const PAGE = 50
/** The rules deny reading more messages at once. */
const MAX_READ = 100
const WEEK = 7 * 24 * 60 * 60 * 1000

/** The id of the conversation of two users, the same for both. */
export function conversationId(one: string, other: string): string {
  const [a, b] = [one, other].sort() as [string, string]
  return `p${a.slice(1)}${b.slice(1)}`
}

/** How groups are kept. */
export interface ImOptions {
  /**
   * The server keeps the groups of each user and owner, and counts them, by the data document
   * of the model.
   */
  declared?: boolean
}

/** Messages as one user sees them, who has to be signed in as `me`. */
export class Im {
  constructor(
    private readonly db: Database<ImData>,
    readonly me: string,
    private readonly options: ImOptions = {}
  ) {}

  /** Makes the record of this user. */
  register(name: string): Promise<void> {
    return set(ref(this.db, `users/${this.me}`), { name, created: serverTimestamp() })
  }

  // ---- groups

  /** The members of a group that this user is in. */
  async members(group: string): Promise<Record<string, Member>> {
    return (await read(ref<Record<string, Member>>(this.db, `groupMembers/${group}`))) ?? {}
  }

  /** The groups of this user, with the times of joining. */
  async groups(): Promise<Record<string, number>> {
    return (await read(ref<Record<string, number>>(this.db, `userGroups/${this.me}`))) ?? {}
  }

  /** What `groups` would answer, if that has changed since a version; else null. */
  async groupsSince(version: number | null): Promise<{ version: number; groups: string[] } | null> {
    const now = await read(ref<number>(this.db, `versions/${this.me}/groups`))
    if (now === null || now === version) return null
    return { version: now, groups: Object.keys(await this.groups()) }
  }

  /** The groups that belong to this user. */
  async ownedGroups(): Promise<string[]> {
    return keys(await get(ref(this.db, `ownedGroups/${this.me}`)))
  }

  /** Makes a group of this user and returns its id. The rules refuse more than `limits` allows. */
  async createGroup(name: string): Promise<string> {
    const { me } = this
    const now = serverTimestamp()
    const group = `g${newId()}`
    await update(ref(this.db), {
      [`groups/${group}`]: { owner: me, name, created: now },
      [`conversations/${group}`]: { kind: 'group', group },
      ...this.owned(group, now, 1),
      ...this.membership(group, me, 'owner')
    })
    return group
  }

  // The place of a group in the list of its owner and the counter, unless the server keeps them.
  private owned(group: string, created: ServerValue | null, step: 1 | -1) {
    const { me } = this
    if (this.options.declared) return {}
    return {
      [`ownedGroups/${me}/${group}`]: created,
      [`stats/${me}/ownedGroups`]: increment(step),
      [`stats/${me}/lastOwned`]: group
    }
  }

  private membership(group: string, user: string, role: Role | null) {
    return membership(group, user, role, this.options.declared)
  }

  /**
   * Deletes a group of this user. Its messages stay, so its id is not used again. Who joins
   * meanwhile makes it start again.
   */
  deleteGroup(group: string): Promise<void> {
    return retry(
      async () => Object.keys(await this.members(group)),
      members =>
        update(ref(this.db), {
          [`groups/${group}`]: null,
          ...this.owned(group, null, -1),
          ...Object.assign({}, ...members.map(user => this.membership(group, user, null)))
        })
    )
  }

  /** Adds a user to a group that belongs to this one. */
  addMember(group: string, user: string, role: Exclude<Role, 'owner'> = 'member'): Promise<void> {
    return update(ref(this.db), this.membership(group, user, role))
  }

  /** Removes a user from a group that belongs to this one. */
  removeMember(group: string, user: string): Promise<void> {
    return update(ref(this.db), this.membership(group, user, null))
  }

  /** Leaves a group. The owner cannot. */
  leaveGroup(group: string): Promise<void> {
    return this.removeMember(group, this.me)
  }

  /** Renames a group that belongs to this user. */
  renameGroup(group: string, name: string): Promise<void> {
    return set(ref<string>(this.db, `groups/${group}/name`), name)
  }

  /** Gives a member of a group that belongs to this user another role. */
  setRole(group: string, user: string, role: Exclude<Role, 'owner'>): Promise<void> {
    return set(ref<Role>(this.db, `groupMembers/${group}/${user}/role`), role)
  }

  // ---- messages

  /** The id of the conversation with another user, which is made if it is new. */
  async openConversation(other: string): Promise<string> {
    const id = conversationId(this.me, other)
    const [a, b] = [this.me, other].sort() as [string, string]
    await runTransaction(ref<Conversation>(this.db, `conversations/${id}`), now =>
      now ? undefined : { kind: 'private' as const, a, b }
    )
    return id
  }

  /** Sends a text. Returns where it is. */
  async send(conversation: string, text: string): Promise<{ bucket: string; key: string }> {
    const bucket = await this.currentBucket()
    const message = { from: this.me, text, sent: serverTimestamp() }
    const sent = push(this.messages(bucket, conversation), message)
    await sent
    return { bucket, key: sent.key }
  }

  /**
   * The newest messages of a conversation, or those before one; the oldest first. Where
   * a month ends, the page goes on in the one before.
   */
  async page(
    conversation: string,
    before?: { bucket: string; key: string },
    count = PAGE
  ): Promise<Placed[]> {
    const buckets = await this.buckets()
    let found: Placed[] = []
    for (const bucket of Object.keys(buckets).sort().reverse()) {
      if (before && bucket > before.bucket) continue
      const to = bucket === before?.bucket ? [endBefore(before.key)] : []
      const more = await this.read(bucket, conversation, ...to, limitToLast(count - found.length))
      found = [...more, ...found]
      if (found.length >= count) break
    }
    return found
  }

  /** The messages after one, the oldest first; where a month ends, they go on in the next. */
  async since(
    conversation: string,
    after: { bucket: string; key: string },
    count = MAX_READ
  ): Promise<Placed[]> {
    const found: Placed[] = []
    for (const bucket of Object.keys(await this.buckets()).sort()) {
      if (bucket < after.bucket) continue
      const from = bucket === after.bucket ? [startAfter(after.key)] : []
      const more = await this.read(bucket, conversation, ...from, limitToFirst(count - found.length))
      found.push(...more)
      if (found.length >= count) break
    }
    return found
  }

  /**
   * Calls `next` with the newest messages of this month, with each that comes in this or a
   * later one, and with those that are deleted while they are among the last 100 of their
   * month. Messages are in the order of their keys, which are made by the clocks of their
   * senders: one that comes with a key below those of the last 100 is not told. `cancel`
   * hears if they cannot be read any more.
   */
  async watch(
    conversation: string,
    next: (message: Placed) => unknown,
    count = PAGE,
    cancel?: (error: Error) => unknown
  ): Promise<Unsubscribe> {
    const current = await this.currentBucket()
    const stops: Unsubscribe[] = []
    const stop = () => stops.forEach(stop => stop())
    const fail = (error: Error) => {
      stop()
      cancel?.(error)
    }
    // Also those to come, so that no caller has to know when they begin.
    const months = query(ref(this.db, 'buckets'), orderByKey(), startAt(current))
    const follow = (bucket: string) => {
      const known = bucket === current ? count : undefined
      const tell = (message: Keyed<Message>) => next({ ...message, bucket })
      stops.push(watchMonth(this.messages(bucket, conversation), tell, known, fail))
    }
    stops.push(onChildAdded(months, ({ key }) => follow(key!), fail))
    return stop
  }

  /** Marks a message of this user as deleted, once. It stays where it is. */
  logicalDelete(conversation: string, { bucket, key }: { bucket: string; key: string }): Promise<void> {
    const path = `messages/${bucket}/${conversation}/${key}/deletedAt`
    return set(ref<number>(this.db, path), serverTimestamp())
  }

  private async read(bucket: string, conversation: string, ...which: QueryConstraint[]): Promise<Placed[]> {
    const page = await get(query(this.messages(bucket, conversation), orderByKey(), ...which))
    return records<Message>(page).map(message => ({ ...message, bucket }))
  }

  private async buckets(): Promise<Record<string, Bucket>> {
    return (await read(ref<Record<string, Bucket>>(this.db, 'buckets'))) ?? {}
  }

  // By the clock of the server, which decides what is taken.
  private async currentBucket(): Promise<string> {
    const buckets = Object.entries(await this.buckets())
    const now = await serverTime(this.db)
    const bucket = buckets.find(([, { from, to }]) => from <= now && now < to)
    if (!bucket) throw new Error('there is no bucket for this month')
    return bucket[0]
  }

  private messages(bucket: string, conversation: string) {
    return ref<Record<string, Message>>(this.db, `messages/${bucket}/${conversation}`)
  }

  // ---- friends

  /** Asks a user for friendship. Only that user can read it. Returns its key. */
  async friendRequest(to: string, text: string): Promise<string> {
    const key = push(ref(this.db, `friendRequests/${to}`)).key
    const listed = await read(ref<boolean>(this.db, 'config/optionalIndexes/sentRequests'))
    await update(ref(this.db), {
      [`friendRequests/${to}/${key}`]: {
        from: this.me,
        text,
        created: serverTimestamp(),
        state: 'pending'
      },
      ...(listed && { [`sentRequests/${this.me}/${key}`]: to })
    })
    return key
  }

  /** The requests to this user, by default of the last week; the oldest first. */
  async requests(from = Date.now() - WEEK, count = PAGE): Promise<Keyed<FriendRequest>[]> {
    const all = ref(this.db, `friendRequests/${this.me}`)
    return records(await get(query(all, orderByChild('created'), startAt(from), limitToLast(count))))
  }

  /** Accepts or declines a request, once. */
  answer(key: string, state: 'accepted' | 'declined'): Promise<void> {
    return set(ref(this.db, `friendRequests/${this.me}/${key}/state`), state)
  }

  /** To whom this user has sent which request, if that index is switched on. */
  async sentRequests(): Promise<Record<string, string>> {
    return (await read(ref<Record<string, string>>(this.db, `sentRequests/${this.me}`))) ?? {}
  }
}

// 8 random bytes in hex.
function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(8))
  return Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('')
}

// The three places of a membership, the last of which says that it has changed.
function membership(
  group: string,
  user: string,
  role: Role | null,
  declared = false
): Record<string, unknown> {
  const now = serverTimestamp()
  return {
    [`groupMembers/${group}/${user}`]: role && { role, joined: now },
    ...(!declared && { [`userGroups/${user}/${group}`]: role && now }),
    [`versions/${user}/groups`]: now
  }
}
