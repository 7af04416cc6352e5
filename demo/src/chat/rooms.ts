// The rooms that the user may see: the public ones by a query that the rules ask for, the
// own ones by the index below the user, each read by its key.

import {
  equalTo,
  limitToLast,
  orderByChild,
  orderByKey,
  push,
  query,
  ref,
  serverTimestamp,
  update
} from '@dogwood/client'
import { attempt, type Outcome } from '../attempt.js'
import type { Client } from '../client.js'
import { Signal } from '../dom.js'
import { childrenOf, fieldsOf, keysOf, textOf } from '../read.js'
import { watch } from '../watched.js'

export interface Room {
  readonly id: string
  readonly name: string
  readonly type: 'public' | 'private'
  readonly owner: string
}

export class Rooms {
  readonly changed = new Signal()
  /** Why there is no list, if the rules refuse it. */
  refused?: string
  /** Counts the changes of memberships that the server has answered. */
  settled = 0
  private indexed = false
  private readonly failed = new Set<string>()
  private readonly reading = new Set<string>() // own rooms that have not been read yet
  private readonly own = new Map<string, Room | undefined>() // undefined until it has been read
  private open = new Map<string, Room>()
  private readonly newest = new Map<string, string>()
  private readonly ends = new Map<string, () => void>()
  private readonly read: Record<string, string>
  private readonly stored: string

  constructor(private readonly client: Client) {
    const { db, person } = client
    this.stored = `dogwood-demo-read ${person.id}`
    this.read = JSON.parse(localStorage.getItem(this.stored) ?? '{}')
    watch(
      query(ref(db, 'rooms'), orderByChild('type'), equalTo('public')),
      rooms => {
        this.open = new Map(childrenOf(rooms.val()).map(([id, room]) => [id, roomOf(id, room)]))
        this.changed.emit()
      },
      error => {
        this.refused = error.message
        this.changed.emit()
      }
    )
    if (person.uid) watch(ref(db, `users/${person.uid}/rooms`), index => this.follow(keysOf(index.val())))
  }

  /** The rooms that the user is a member of. */
  get mine(): Room[] {
    return sorted([...this.own.values()].filter(room => room !== undefined))
  }

  /** The public rooms that the user is no member of. */
  get others(): Room[] {
    return sorted([...this.open.values()].filter(room => !this.own.has(room.id)))
  }

  /** Whether all that is known to be the user's has been read. */
  get ready(): boolean {
    return this.indexed && [...this.own.values()].every(room => room !== undefined)
  }

  find(id: string): Room | undefined {
    return this.own.get(id) ?? this.open.get(id)
  }

  isMember(id: string): boolean {
    return this.own.has(id)
  }

  /** Whether the user has no such room, and none is being read. */
  isGone(id: string): boolean {
    return !this.find(id) && !this.reading.has(id)
  }

  /** Whether there is something in a room that was not looked at. */
  isUnread(id: string): boolean {
    const newest = this.newest.get(id)
    return !!newest && newest > (this.read[id] ?? '')
  }

  markRead(id: string, key: string): void {
    if (key <= (this.read[id] ?? '')) return
    this.read[id] = key
    localStorage.setItem(this.stored, JSON.stringify(this.read))
    this.changed.emit()
  }

  async create(name: string, type: Room['type']): Promise<string | undefined> {
    const { db, person } = this.client
    const id = push(ref(db, 'rooms')).key!
    const room = { name, type, owner: person.uid!, created: serverTimestamp() }
    void attempt(this.client, `Create “${name}”`, [`/rooms/${id}`], () =>
      update(ref(db), { [`rooms/${id}`]: room, ...membership(id, person.uid!, true) })
    ).then(() => this.settle())
    return id
  }

  join(id: string, uid = this.client.person.uid!): Promise<Outcome> {
    return this.change('Join', id, uid, true)
  }

  leave(id: string, uid = this.client.person.uid!): Promise<Outcome> {
    return this.change('Leave', id, uid, null)
  }

  private async change(what: string, id: string, uid: string, member: true | null): Promise<Outcome> {
    const outcome = await attempt(this.client, what, [`/members/${id}/${uid}`], () =>
      update(ref(this.client.db), membership(id, uid, member))
    )
    this.settle()
    return outcome
  }

  // settle listens again where that was refused, since the user may have become a member.
  private settle(): void {
    this.settled++
    for (const id of [...this.failed]) this.again(id)
    this.changed.emit()
  }

  private again(id: string): void {
    this.drop(id)
    this.add(id)
  }

  private follow(ids: string[]): void {
    this.indexed = true
    for (const id of this.own.keys()) if (!ids.includes(id)) this.drop(id)
    for (const id of ids) if (!this.own.has(id)) this.add(id)
    this.changed.emit()
  }

  private add(id: string): void {
    const { db } = this.client
    this.own.set(id, undefined)
    this.reading.add(id)
    const { settled } = this
    const none = () => {
      if (settled !== this.settled && this.own.has(id)) return this.again(id)
      this.failed.add(id)
      this.reading.delete(id)
      this.changed.emit()
    }
    const ends = [
      watch(
        ref(db, `rooms/${id}`),
        room => {
          if (!this.own.has(id)) return
          this.reading.delete(id)
          this.own.set(id, room.exists() ? roomOf(id, room.val()) : undefined)
          this.changed.emit()
        },
        none
      ),
      watch(
        query(ref(db, `messages/${id}`), orderByKey(), limitToLast(1)),
        last => {
          last.forEach(message => void this.newest.set(id, message.key!))
          this.changed.emit()
        },
        none
      )
    ]
    this.ends.set(id, () => ends.forEach(end => end()))
  }

  private drop(id: string): void {
    this.ends.get(id)?.()
    this.ends.delete(id)
    this.failed.delete(id)
    this.reading.delete(id)
    this.own.delete(id)
  }
}

/** Both halves of a membership. The rules take no half. */
export const membership = (room: string, uid: string, member: true | null) => ({
  [`members/${room}/${uid}`]: member,
  [`users/${uid}/rooms/${room}`]: member
})

function roomOf(id: string, value: unknown): Room {
  const { name, type, owner } = fieldsOf(value)
  return { id, name: textOf(name, id), type: type === 'private' ? type : 'public', owner: textOf(owner) }
}

const sorted = (rooms: Room[]): Room[] => rooms.sort((a, b) => (a.name < b.name ? -1 : 1))
