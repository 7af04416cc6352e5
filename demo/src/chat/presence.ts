// Who is there, and who is typing. A connection leaves a place of its own below presence,
// which the server removes when it is gone, however it ends.

import { onDisconnect, onValue, push, ref, remove, serverTimestamp, set } from '@dogwood/client'
import type { Client } from '../client.js'
import { Signal } from '../dom.js'
import { fieldsOf, keysOf } from '../read.js'
import { watch } from '../watched.js'

const none = () => {} // what is refused here is in the panel, and nobody waits for it

export class Presence {
  readonly changed = new Signal()
  private there = new Set<string>()

  constructor({ db, person }: Client) {
    const { uid } = person
    if (!uid) return
    onValue(ref(db, '.info/connected'), async connected => {
      if (!connected.val()) return
      const here = push(ref(db, `presence/${uid}`))
      await onDisconnect(here).remove().catch(none)
      await set(here, serverTimestamp()).catch(none)
    })
    watch(
      ref(db, 'presence'),
      presence => {
        this.there = new Set(keysOf(presence.val()))
        this.changed.emit()
      },
      none
    )
  }

  has(uid: string): boolean {
    return this.there.has(uid)
  }
}

const LASTS = 6000 // since it was last heard of
const AGAIN = 2500 // while somebody goes on typing

/** Who is typing in one room. */
export class Typing {
  readonly changed = new Signal()
  private readonly heard = new Map<string, number>()
  private readonly ends: () => void
  private readonly timer = setInterval(() => this.forget(), 1000)
  private toldAt = 0
  private stopping?: ReturnType<typeof setTimeout>

  constructor(
    private readonly client: Client,
    private readonly room: string
  ) {
    const values = new Map<string, unknown>()
    this.ends = watch(
      ref(client.db, `typing/${room}`),
      typing => {
        const now = fieldsOf(typing.val())
        for (const [uid, at] of Object.entries(now)) {
          if (values.get(uid) !== at) this.heard.set(uid, Date.now())
          values.set(uid, at)
        }
        for (const uid of this.heard.keys()) if (!(uid in now)) this.heard.delete(uid)
        this.changed.emit()
      },
      none
    )
  }

  /** The uids of the others who are typing. */
  get who(): string[] {
    const oldest = Date.now() - LASTS
    return [...this.heard]
      .filter(([uid, at]) => uid !== this.client.person.uid && at > oldest)
      .map(([uid]) => uid)
  }

  /** Tells the others, if they can hear it now. */
  tell(): void {
    clearTimeout(this.stopping)
    this.stopping = setTimeout(() => this.stop(), 4000)
    if (document.body.dataset.state !== 'connected' || Date.now() - this.toldAt < AGAIN) return
    this.toldAt = Date.now()
    void onDisconnect(this.mine()).remove().catch(none)
    void set(this.mine(), serverTimestamp()).catch(none)
  }

  stop(): void {
    clearTimeout(this.stopping)
    if (!this.toldAt) return
    this.toldAt = 0
    void remove(this.mine()).catch(none)
  }

  close(): void {
    this.stop()
    clearInterval(this.timer)
    this.ends()
  }

  private mine() {
    return ref(this.client.db, `typing/${this.room}/${this.client.person.uid}`)
  }

  private forget(): void {
    const oldest = Date.now() - LASTS
    let changed = false
    for (const [uid, at] of this.heard) if (at <= oldest) changed = this.heard.delete(uid)
    if (changed) this.changed.emit()
  }
}
