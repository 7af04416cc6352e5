// The messages of a room: the newest ones live, those before them page by page.

import { endBefore, get, limitToLast, orderByKey, query, ref } from '@dogwood/client'
import type { Client } from '../client.js'
import { Signal } from '../dom.js'
import { fieldsOf, textOf, timeIn } from '../read.js'
import { watch } from '../watched.js'

export interface Message {
  readonly key: string
  readonly sender: string
  readonly message: string
  readonly sent: number
}

export const PAGE = 30

function messageOf(key: string, value: unknown): Message {
  const { sender, message, sent } = fieldsOf(value)
  return { key, sender: textOf(sender), message: textOf(message, '(no text)'), sent: timeIn(sent) }
}

export class Messages {
  readonly changed = new Signal()
  /** Why they cannot be read, if the rules refuse. */
  refused = false
  loaded = false
  /** Whether there may be more before the first. */
  more = false
  private older: Message[] = []
  private tail: Message[] = []
  private readonly end: () => void

  constructor(
    private readonly client: Client,
    private readonly room: string
  ) {
    this.end = watch(
      query(this.ref, orderByKey(), limitToLast(PAGE)),
      snapshot => {
        const now: Message[] = []
        snapshot.forEach(message => void now.push(messageOf(message.key!, message.val())))
        this.slide(now)
      },
      () => {
        this.refused = true
        this.changed.emit()
      }
    )
  }

  /** All that is known, oldest first. */
  get list(): readonly Message[] {
    return [...this.older, ...this.tail]
  }

  /** Loads the page before the first message. */
  async earlier(): Promise<void> {
    const first = this.list[0]
    if (!first) return
    const page = await get(query(this.ref, orderByKey(), endBefore(first.key), limitToLast(PAGE)))
    const found: Message[] = []
    page.forEach(message => void found.push(messageOf(message.key!, message.val())))
    this.older = [...found, ...this.older]
    this.more = found.length === PAGE
    this.changed.emit()
  }

  close(): void {
    this.end()
  }

  private get ref() {
    return ref(this.client.db, `messages/${this.room}`)
  }

  // slide takes the live window as it is now. What has left a full window at its old end
  // is still there, and only scrolled out of it; anything else was deleted. If so much came
  // at once that nothing is left of the window before, there may be a gap, and what was
  // before it is loaded again when it is asked for.
  private slide(now: Message[]): void {
    const first = now[0]?.key
    const full = now.length === PAGE && first !== undefined
    const jumped = full && this.loaded && !this.tail.some(({ key }) => key >= first)
    if (jumped) this.older = []
    else if (full) this.older.push(...this.tail.filter(({ key }) => key < first))
    if (jumped || !this.loaded) this.more = full
    // A window that grew backwards, as after a deletion, has some of the older ones.
    this.older = this.older.filter(({ key }) => first === undefined || key < first)
    this.tail = now
    this.loaded = true
    this.changed.emit()
  }
}
