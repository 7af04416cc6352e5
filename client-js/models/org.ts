// Org: users and groups that list each other. The rules are those of
// testdata/models/org; docs/models/org.md explains them.

import {
  type Database,
  get,
  onChildAdded,
  onChildRemoved,
  onValue,
  ref,
  remove,
  runTransaction,
  set,
  type Unsubscribe,
  update
} from '@dogwood/client'
import { allJoined, read, retry } from './records.js'

export interface Group {
  name: string
  owner: string
  members?: Record<string, true>
}

export interface User {
  name: string
  groups?: Record<string, true>
}

/** The data of the model. */
export interface OrgData {
  users: Record<string, User>
  groups: Record<string, Group>
}

/** How an organisation is kept. */
export interface OrgOptions {
  /** The server keeps the groups of each user, by the data document of the model. */
  declared?: boolean
}

/** An organisation as one user sees it, who has to be signed in as `me`. */
export class Org {
  constructor(
    private readonly db: Database<OrgData>,
    readonly me: string,
    private readonly options: OrgOptions = {}
  ) {}

  /** Makes the record of this user. Returns false if there is one. */
  async signUp(name: string): Promise<boolean> {
    const { committed } = await runTransaction(ref<User>(this.db, `users/${this.me}`), user =>
      user ? undefined : { name }
    )
    return committed
  }

  /** Deletes the record of this user, who must be in no group. */
  deleteUser(): Promise<void> {
    return remove(ref(this.db, `users/${this.me}`))
  }

  /** Reports whether this user is in a group. Reads one leaf. */
  async isMember(group: string): Promise<boolean> {
    return (await get(ref(this.db, `users/${this.me}/groups/${group}`))).exists()
  }

  /** The groups of this user: their names by their keys. */
  ownGroups(): Promise<Map<string, string>> {
    return allJoined(this.db, ref(this.db, `users/${this.me}/groups`), 'groups/$key/name')
  }

  /** A group that this user is in, or owns. */
  group(group: string): Promise<Group | null> {
    return read(ref<Group>(this.db, `groups/${group}`))
  }

  /** Makes a group that belongs to this user, who is its first member. */
  createGroup(group: string, name: string): Promise<void> {
    const value: Group = { name, owner: this.me, members: { [this.me]: true } }
    if (this.options.declared) return set(ref<Group>(this.db, `groups/${group}`), value)
    return update(ref(this.db), {
      [`groups/${group}`]: value,
      [`users/${this.me}/groups/${group}`]: true
    })
  }

  /** Renames a group of this user. */
  renameGroup(group: string, name: string): Promise<void> {
    return set(ref<string>(this.db, `groups/${group}/name`), name)
  }

  /** Adds a user to a group that belongs to this one. Twice does no harm. */
  addMember(group: string, user: string): Promise<void> {
    return this.setMember(group, user, true)
  }

  /** Removes a user from a group that belongs to this one. */
  removeMember(group: string, user: string): Promise<void> {
    return this.setMember(group, user, null)
  }

  /** Leaves a group. */
  leave(group: string): Promise<void> {
    return this.setMember(group, this.me, null)
  }

  // Both sides of the index change together; the rules refuse one alone, unless the
  // server keeps the other.
  private setMember(group: string, user: string, value: true | null): Promise<void> {
    if (this.options.declared) return set(ref<true | null>(this.db, `groups/${group}/members/${user}`), value)
    return update(ref(this.db), {
      [`groups/${group}/members/${user}`]: value,
      [`users/${user}/groups/${group}`]: value
    })
  }

  /**
   * Deletes a group of this user. Takes two writes, since one update cannot name a
   * path and one below it: the members, then the group. Who is added in between makes
   * the second one fail; then it starts again. Where the server keeps the groups of each
   * user, it takes one write.
   */
  deleteGroup(group: string): Promise<void> {
    if (this.options.declared) return remove(ref(this.db, `groups/${group}`))
    return retry(
      async () => Object.keys((await this.group(group))?.members ?? {}),
      async members => {
        const gone: Record<string, null> = {}
        for (const user of members) {
          gone[`groups/${group}/members/${user}`] = null
          gone[`users/${user}/groups/${group}`] = null
        }
        await update(ref(this.db), gone)
        await remove(ref(this.db, `groups/${group}`))
      }
    )
  }

  /**
   * Calls `next` with the groups of this user now and after every change in one of
   * them, until the returned function is called. It has one listener for the index and
   * one for each group; who is removed from a group stops hearing of it.
   */
  watchGroups(next: (groups: ReadonlyMap<string, Group>) => unknown): Unsubscribe {
    const groups = new Map<string, Group>()
    const stops = new Map<string, Unsubscribe>()
    const forget = (group: string) => {
      stops.get(group)?.()
      stops.delete(group)
      if (groups.delete(group)) next(groups)
    }
    const index = ref<Record<string, true>>(this.db, `users/${this.me}/groups`)
    const stopAdded = onChildAdded(index, ({ key }) => {
      const show = (value: Group | null) => {
        if (value) next(groups.set(key!, value))
      }
      stops.set(
        key!,
        onValue(
          ref<Group>(this.db, `groups/${key}`),
          group => show(group.val()),
          () => forget(key!)
        )
      )
    })
    const stopRemoved = onChildRemoved(index, ({ key }) => forget(key!))
    return () => {
      for (const stop of [stopAdded, stopRemoved, ...stops.values()]) stop()
    }
  }
}
