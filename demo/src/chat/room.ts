// One room: its head with the members, its messages, and the line to write on.

import { push, ref, serverTimestamp, set, update } from '@dogwood/client'
import { attempt } from '../attempt.js'
import type { Client } from '../client.js'
import { avatar, fill, h, icon, menu, timeOf } from '../dom.js'
import { model, nameOf } from '../model.js'
import { keysOf } from '../read.js'
import { watch } from '../watched.js'
import { type Message, Messages } from './messages.js'
import { pending } from './pending.js'
import { type Presence, Typing } from './presence.js'
import { membership, type Room, type Rooms } from './rooms.js'

const TOGETHER = 5 * 60_000 // messages of one sender that need no second head

export class RoomView {
  readonly element = h('section', { class: 'room', 'aria-label': 'Room' })
  private readonly messages: Messages
  private readonly typing: Typing
  private readonly items = new Map<string, HTMLElement>()
  private members: string[] = []
  private readonly ends: (() => void)[] = []
  private readonly head = h('header', { class: 'room-head' })
  private readonly list = h('ol', { class: 'messages' })
  private readonly earlier = h(
    'button',
    { type: 'button', class: 'quiet small', onclick: () => void this.loadEarlier() },
    'Earlier messages'
  )
  private readonly scroller: HTMLElement
  private readonly foot = h('div', { class: 'room-foot' })
  private readonly typists = h('p', { class: 'typing', 'aria-live': 'polite' })

  constructor(
    private readonly client: Client,
    private readonly rooms: Rooms,
    private readonly presence: Presence,
    private readonly id: string,
    private readonly back: () => void
  ) {
    this.messages = new Messages(client, id)
    this.typing = new Typing(client, id)
    this.scroller = h(
      'div',
      { class: 'scroller', tabindex: 0, role: 'log', 'aria-live': 'polite', 'aria-label': 'Messages' },
      h('div', { class: 'earlier' }, this.earlier),
      this.list
    )
    this.element.append(this.head, this.scroller, this.foot)
    this.ends.push(
      watch(
        ref(client.db, `members/${id}`),
        members => {
          this.members = keysOf(members.val())
          this.renderHead()
        },
        () => {}
      ),
      this.messages.changed.on(() => {
        this.renderMessages()
        if (this.refused) rooms.changed.emit()
      }),
      pending.changed.on(() => this.renderMessages()),
      rooms.changed.on(() => this.renderHead()),
      presence.changed.on(() => this.renderHead()),
      this.typing.changed.on(() => this.renderTyping())
    )
    // A sheet or a keyboard that opens below takes the space, not the newest messages.
    const resized = new ResizeObserver(() => {
      if (this.atEnd) this.scroller.scrollTop = this.scroller.scrollHeight
    })
    resized.observe(this.scroller)
    this.scroller.addEventListener('scroll', () => {
      this.atEnd = this.isAtEnd()
    })
    this.ends.push(() => resized.disconnect())
    this.renderHead()
    this.renderFoot()
    this.renderMessages()
  }

  private atEnd = true

  private isAtEnd(): boolean {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller
    return scrollHeight - scrollTop - clientHeight < 80
  }

  /** Whether the rules refuse to show the messages. */
  get refused(): boolean {
    return this.messages.refused
  }

  close(): void {
    this.messages.close()
    this.typing.close()
    for (const end of this.ends) end()
  }

  // ---- head

  private renderHead(): void {
    const room = this.rooms.find(this.id)
    const chips = this.members.map(uid =>
      h(
        'li',
        { class: 'member' },
        avatar(uid, nameOf(uid), this.presence.has(uid)),
        h('span', null, nameOf(uid)),
        uid === room?.owner && h('span', { class: 'tag' }, 'owner'),
        h('span', { class: 'unseen' }, this.presence.has(uid) ? '(here)' : '(away)')
      )
    )
    const open = this.head.querySelector('details')?.open
    if (open) return // not under the pointer
    fill(
      this.head,
      h(
        'button',
        { type: 'button', class: 'quiet square back', 'aria-label': 'All rooms', onclick: this.back },
        icon('back')
      ),
      h(
        'div',
        { class: 'room-title' },
        h(
          'h1',
          null,
          room?.name ?? '…',
          ' ',
          icon(room?.type === 'private' ? 'lock' : 'globe'),
          h('span', { class: 'unseen' }, room?.type ?? '')
        ),
        h('ul', { class: 'members', 'aria-label': 'Members' }, ...chips)
      ),
      room && this.rooms.isMember(this.id) ? this.actions(room) : null
    )
    this.renderFoot()
  }

  private actions(room: Room): HTMLElement {
    const { uid } = this.client.person
    const mine = room.owner === uid
    const strangers = model.people.filter(({ uid }) => uid && !this.members.includes(uid))
    const button = (text: string, f: () => unknown) =>
      h('button', { type: 'button', onclick: () => void f() }, text)
    return menu(
      'What can be done in this room',
      ...(mine
        ? strangers.map(one => button(`Invite ${one.name}`, () => this.rooms.join(this.id, one.uid)))
        : []),
      button('Post 40 lines, to page through', () => this.fillRoom()),
      mine
        ? button('Delete the room', () => this.delete())
        : button('Leave the room', () => this.rooms.leave(this.id)),
      h('p', { class: 'menu-title' }, 'Try what is forbidden'),
      button('Post in the name of somebody else', () => this.forge()),
      button('Post with a time of your own', () =>
        this.post('from the past', 'Post with a time of your own', { sent: 1 })
      ),
      button('Leave with half of the update', () => this.leaveByHalf()),
      button('Change a message', () => this.edit()),
      mine && button('Leave your own room', () => this.rooms.leave(this.id))
    )
  }

  private forge(): void {
    const other = model.people.find(({ uid }) => uid && uid !== this.client.person.uid)!
    this.post(`${other.name} did not say this`, `Post in the name of ${other.name}`, { sender: other.uid })
  }

  private leaveByHalf(): void {
    const path = `members/${this.id}/${this.client.person.uid}`
    void attempt(this.client, 'Leave with half of the update', [`/${path}`], () =>
      set(ref(this.client.db, path), null)
    )
  }

  private edit(): void {
    const { key } = this.messages.list.at(-1) ?? {}
    if (!key) return
    const path = `messages/${this.id}/${key}/message`
    void attempt(this.client, 'Change a message', [`/${path}`], () =>
      set(ref(this.client.db, path), 'changed')
    )
  }

  private fillRoom(): void {
    const values: Record<string, unknown> = {}
    for (let i = 1; i <= 40; i++) {
      const { key } = push(ref(this.client.db, `messages/${this.id}`))
      values[key!] = { sender: this.client.person.uid, message: `line ${i} of 40`, sent: serverTimestamp() }
    }
    void attempt(this.client, 'Post 40 lines', [], () =>
      update(ref(this.client.db, `messages/${this.id}`), values)
    )
  }

  private delete(): void {
    const gone = Object.assign({}, ...this.members.map(uid => membership(this.id, uid, null)))
    const values = { ...gone, [`rooms/${this.id}`]: null, [`messages/${this.id}`]: null }
    void attempt(this.client, 'Delete the room', [`/rooms/${this.id}`], () =>
      update(ref(this.client.db), values)
    )
  }

  // ---- messages

  private renderMessages(): void {
    const { list, refused, loaded, more } = this.messages
    this.element.classList.toggle('refused', refused)
    this.earlier.hidden = !more
    if (refused || !loaded) {
      fill(this.list)
      this.renderFoot()
      return
    }
    const atEnd = this.isAtEnd() || !this.items.size
    const now = new Map<string, HTMLElement>()
    list.forEach((message, i) => now.set(message.key, this.item(message, list[i - 1])))
    fill(
      this.list,
      ...(list.length ? [...now.values()] : [h('li', { class: 'empty' }, 'Nobody has said anything yet.')])
    )
    this.items.clear()
    for (const [key, item] of now) this.items.set(key, item)
    if (atEnd) this.scroller.scrollTop = this.scroller.scrollHeight
    if (!document.hidden && list.length) this.rooms.markRead(this.id, list.at(-1)!.key)
    this.renderFoot()
  }

  private item(message: Message, before: Message | undefined): HTMLElement {
    const { key, sender, sent } = message
    const goesOn = before?.sender === sender && sent - before.sent < TOGETHER && sameDay(before.sent, sent)
    const waits = pending.has(key)
    const state = `${goesOn} ${waits} ${before && sameDay(before.sent, sent)} ${sent}`
    const known = this.items.get(key)
    if (known?.dataset.state === state) return known
    const mine = sender === this.client.person.uid
    return h(
      'li',
      {
        class: `message${goesOn ? ' goes-on' : ''}${mine ? ' mine' : ''}${waits ? ' waits' : ''}`,
        'data-state': state,
        'data-key': key
      },
      !(before && sameDay(before.sent, sent)) && h('p', { class: 'day' }, h('span', null, dayOf(sent))),
      h(
        'div',
        { class: 'line' },
        goesOn ? h('time', { class: 'gutter' }, timeOf(sent)) : avatar(sender, nameOf(sender)),
        h(
          'div',
          { class: 'said' },
          !goesOn &&
            h('p', { class: 'by' }, h('b', null, nameOf(sender)), ' ', h('time', null, timeOf(sent))),
          h('p', { class: 'text' }, message.message),
          waits && h('p', { class: 'waiting' }, icon('clock'), 'waits for the server')
        ),
        mine &&
          h(
            'button',
            {
              type: 'button',
              class: 'quiet square delete',
              'aria-label': `Delete “${message.message}”`,
              title: 'Delete',
              onclick: () => this.remove(key)
            },
            icon('cross')
          )
      )
    )
  }

  private remove(key: string): void {
    const path = `messages/${this.id}/${key}`
    void attempt(this.client, 'Delete the message', [`/${path}`], () => set(ref(this.client.db, path), null))
  }

  private async loadEarlier(): Promise<void> {
    const { scrollHeight, scrollTop } = this.scroller
    this.earlier.disabled = true
    await this.messages.earlier().catch(() => {})
    this.earlier.disabled = false
    this.scroller.scrollTop = scrollTop + this.scroller.scrollHeight - scrollHeight
  }

  // ---- foot

  private footFor = ''

  private renderFoot(): void {
    const room = this.rooms.find(this.id)
    const kind = this.rooms.isMember(this.id) ? 'member' : room?.type === 'public' ? 'public' : 'closed'
    if (kind === this.footFor) return
    this.footFor = kind
    if (kind === 'member') fill(this.foot, this.typists, this.composer())
    else if (kind === 'public') {
      fill(
        this.foot,
        h('p', { class: 'gate' }, 'Only members may read what is said here.'),
        h(
          'button',
          { type: 'button', class: 'primary', onclick: () => void this.rooms.join(this.id) },
          'Join the room'
        )
      )
    } else fill(this.foot, h('p', { class: 'gate' }, 'You are no member of this room.'))
  }

  private composer(): HTMLElement {
    const field = h('textarea', {
      rows: 1,
      'aria-label': 'Message',
      placeholder: 'Write a message',
      maxlength: 2000,
      enterkeyhint: 'send'
    })
    const fit = () => {
      field.rows = Math.min(6, field.value.split('\n').length)
    }
    const send = () => {
      const text = field.value.trim()
      field.value = ''
      fit()
      field.focus()
      if (text) this.post(text)
    }
    field.addEventListener('keydown', event => {
      if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
      event.preventDefault()
      send()
    })
    field.addEventListener('input', () => {
      fit()
      this.typing.tell()
    })
    return h(
      'form',
      {
        class: 'composer',
        onsubmit: event => {
          event.preventDefault()
          send()
        }
      },
      field,
      h('button', { type: 'submit', class: 'primary square', 'aria-label': 'Send' }, icon('send'))
    )
  }

  private post(
    text: string,
    what = 'Post the message',
    other: Partial<Record<keyof Message, unknown>> = {}
  ): void {
    const { db, person } = this.client
    const { key } = push(ref(db, `messages/${this.id}`))
    pending.add(key!)
    this.typing.stop()
    this.scroller.scrollTop = this.scroller.scrollHeight
    const path = `messages/${this.id}/${key}`
    const value = { sender: person.uid, message: text, sent: serverTimestamp(), ...other }
    void attempt(this.client, what, [`/${path}`], () => set(ref(db, path), value))
  }

  private renderTyping(): void {
    const names = this.typing.who.map(nameOf)
    this.typists.textContent = names.length
      ? `${names.join(' and ')} ${names.length > 1 ? 'are' : 'is'} typing…`
      : ''
  }
}

const sameDay = (a: number, b: number): boolean => new Date(a).toDateString() === new Date(b).toDateString()

const dayOf = (ms: number): string =>
  new Date(ms).toLocaleDateString([], { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' })
