// Chat: rooms, members and messages apart, so that a list of rooms costs no messages.
// The rules are those of testdata/models/chat; docs/models/chat.md explains them.

import {
  type Database,
  endBefore,
  equalTo,
  get,
  limitToLast,
  orderByChild,
  orderByKey,
  push,
  query,
  ref,
  remove,
  serverTimestamp,
  set,
  type Unsubscribe,
  update
} from '@dogwood/client'
import { allJoined, type Keyed, keyed, keys, read, records, retry } from './records.js'
import { fromTime, type List, tail } from './tail.js'

export interface Room {
  name: string
  type: 'public' | 'private'
  /** The user that made it. */
  owner: string
  /** In milliseconds since 1970, by the clock of the server; so are all times. */
  created: number
}

export interface Message {
  sender: string
  message: string
  sent: number
}

/** The data of the model. */
export interface ChatData {
  rooms: Record<string, Room>
  members: Record<string, Record<string, true>>
  messages: Record<string, Record<string, Message>>
  users: Record<string, { name: string; rooms?: Record<string, true> }>
}

/** How many messages a page has. */
const PAGE = 50

/** How a chat is kept. */
export interface ChatOptions {
  /** The server keeps the rooms of each user, by the data document of the model. */
  declared?: boolean
}

/** A chat as one user sees it, who has to be signed in as `me`. */
export class Chat {
  constructor(
    private readonly db: Database<ChatData>,
    readonly me: string,
    private readonly options: ChatOptions = {}
  ) {}

  /** Sets the name of this user, which also makes the user. */
  setName(name: string): Promise<void> {
    return set(ref<string>(this.db, `users/${this.me}/name`), name)
  }

  /** The rooms that everybody may join. */
  async publicRooms(): Promise<Keyed<Room>[]> {
    return records(await get(query(ref(this.db, 'rooms'), orderByChild('type'), equalTo('public'))))
  }

  /** A room that is public, or that this user is in. */
  room(room: string): Promise<Room | null> {
    return read(ref<Room>(this.db, `rooms/${room}`))
  }

  /** The rooms that this user is in, also private ones. */
  async ownRooms(): Promise<Keyed<Room>[]> {
    return keyed(await allJoined<Room>(this.db, ref(this.db, `users/${this.me}/rooms`), 'rooms/$key'))
  }

  /** Reports whether a user is in a room. */
  async isMember(room: string, user = this.me): Promise<boolean> {
    return (await get(ref(this.db, `members/${room}/${user}`))).exists()
  }

  /** The users in a room. */
  async members(room: string): Promise<string[]> {
    return keys(await get(ref(this.db, `members/${room}`)))
  }

  /** Makes a room that belongs to this user, who is its first member. */
  createRoom(room: string, name: string, type: Room['type']): Promise<void> {
    return update(ref(this.db), {
      [`rooms/${room}`]: { name, type, owner: this.me, created: serverTimestamp() },
      [`members/${room}/${this.me}`]: true,
      ...(!this.options.declared && { [`users/${this.me}/rooms/${room}`]: true })
    })
  }

  /** Joins a public room. */
  joinRoom(room: string): Promise<void> {
    return this.setMember(room, this.me, true)
  }

  /** Leaves a room. The owner cannot. */
  leaveRoom(room: string): Promise<void> {
    return this.setMember(room, this.me, null)
  }

  /** Lets a user into a room that belongs to this one; the only way into a private room. */
  addMember(room: string, user: string): Promise<void> {
    return this.setMember(room, user, true)
  }

  /** Sends a user out of a room that belongs to this one. */
  removeMember(room: string, user: string): Promise<void> {
    return this.setMember(room, user, null)
  }

  // The room and the user list each other: both sides, or none. The server may keep one.
  private setMember(room: string, user: string, value: true | null): Promise<void> {
    if (this.options.declared) return set(ref<true | null>(this.db, `members/${room}/${user}`), value)
    return update(ref(this.db), {
      [`members/${room}/${user}`]: value,
      [`users/${user}/rooms/${room}`]: value
    })
  }

  /**
   * Deletes a room with its messages and all memberships, as its owner. The rules
   * refuse to leave a member behind; so if a user joins meanwhile, it starts again. Where the
   * server keeps the rooms of each user, it need not read the members.
   */
  deleteRoom(room: string): Promise<void> {
    if (this.options.declared) {
      const gone = { [`rooms/${room}`]: null, [`messages/${room}`]: null, [`members/${room}`]: null }
      return update(ref(this.db), gone)
    }
    return retry(
      () => this.members(room),
      members => {
        const gone: Record<string, null> = { [`rooms/${room}`]: null, [`messages/${room}`]: null }
        for (const user of members) {
          gone[`members/${room}/${user}`] = null
          gone[`users/${user}/rooms/${room}`] = null
        }
        return update(ref(this.db), gone)
      }
    )
  }

  /** Posts a message and returns its key. */
  async postMessage(room: string, message: string): Promise<string> {
    const posted = push(ref<Record<string, Message>>(this.db, `messages/${room}`), {
      sender: this.me,
      message,
      sent: serverTimestamp()
    })
    await posted
    return posted.key
  }

  /** Deletes a message of this user; or, as the owner of the room, of a user who is no longer in it. */
  deleteMessage(room: string, key: string): Promise<void> {
    return remove(ref(this.db, `messages/${room}/${key}`))
  }

  /** The newest messages of a room, the oldest first. */
  async newest(room: string, count = PAGE): Promise<Keyed<Message>[]> {
    return records(await get(query(this.messages(room), orderByKey(), limitToLast(count))))
  }

  /** The messages before one of which the key is known, the oldest first. */
  async older(room: string, before: string, count = PAGE): Promise<Keyed<Message>[]> {
    return records(await get(query(this.messages(room), orderByKey(), endBefore(before), limitToLast(count))))
  }

  /**
   * Calls `next` with the `count` newest messages of a room and then with each that the
   * server takes, once, until the returned function is called. After the first they come in
   * the order of their times, also those with lower keys, whose writers were offline for
   * long; however many came while this client was offline, none is left out. Messages of
   * this client come at once. `cancel` hears, once, if this user is no longer in the room.
   */
  tail(
    room: string,
    next: (message: Keyed<Message>) => unknown,
    cancel?: (error: Error) => unknown,
    count = PAGE
  ): Unsubscribe {
    const messages = this.messages(room)
    const list: List<Message> = {
      db: this.db,
      newest: query(messages, orderByKey(), limitToLast(count)),
      since: time => query(messages, orderByChild('sent'), ...fromTime(time)),
      time: ({ sent }) => sent,
      mine: ({ sender }) => sender === this.me
    }
    return tail(list, message => next({ ...message.val()!, key: message.key! }), cancel)
  }

  private messages(room: string) {
    return ref<Record<string, Message>>(this.db, `messages/${room}`)
  }
}
