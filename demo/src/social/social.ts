// The view of statuses and followers: the home timeline, which others fill, and the
// counters, which move with what they count.

import { limitToLast, orderByValue, query, ref, set } from '@dogwood/client'
import { attempt } from '../attempt.js'
import type { Client } from '../client.js'
import { avatar, debounced, fill, h, icon, Signal, whenOf } from '../dom.js'
import { model, nameOf } from '../model.js'
import type { View } from '../page.js'
import { fieldsOf, keysOf, numberOf, textOf, timeIn } from '../read.js'
import { watch } from '../watched.js'
import { follow, post, unfollow, withdraw } from './fanout.js'
import { secondClient } from './second.js'

const HOME = 30
const LONGEST = 140

interface Status {
  readonly id: string
  readonly uid: string
  readonly login: string
  readonly message: string
  readonly posted: number
}

interface Profile {
  readonly login: string
  readonly name: string
  readonly posts: number
  readonly followers: number
  readonly following: number
}

function statusOf(id: string, value: unknown): Status {
  const { uid, login, message, posted } = fieldsOf(value)
  return {
    id,
    uid: textOf(uid),
    login: textOf(login),
    message: textOf(message, '(no text)'),
    posted: timeIn(posted)
  }
}

function profileOf(uid: string, value: unknown): Profile {
  const { login, name, posts, followers, following } = fieldsOf(value)
  return {
    login: textOf(login),
    name: textOf(name, uid),
    posts: numberOf(posts),
    followers: numberOf(followers),
    following: numberOf(following)
  }
}

export const social: View = {
  id: 'social',
  title: 'Statuses',
  make(client) {
    const { uid, claims } = client.person
    if (!uid || claims)
      return h(
        'p',
        { class: 'stranger empty' },
        `${client.person.name} has no timeline. Sign in as somebody else, or try the explorer.`
      )
    return new Social(client, uid).element
  }
}

class Social {
  readonly element: HTMLElement
  private readonly changed = new Signal()
  private readonly profiles = new Map<string, Profile>()
  private readonly statuses = new Map<string, Status | null>()
  private readonly listening = new Set<string>()
  private home: string[] = []
  private following = new Set<string>()
  private readonly drawn = new Set<string>()

  constructor(
    private readonly client: Client,
    private readonly uid: string
  ) {
    const people = h('ul', { class: 'people' })
    const timeline = h('ol', { class: 'timeline', 'aria-live': 'polite', 'aria-label': 'Home' })
    const own = h('section', { class: 'card own-profile', 'aria-label': 'Your profile' })
    this.element = h(
      'div',
      { class: 'social' },
      h(
        'div',
        { class: 'social-side' },
        own,
        h(
          'section',
          { class: 'card', 'aria-labelledby': 'people-title' },
          h('h2', { id: 'people-title' }, 'People'),
          people
        ),
        secondClient(client.person)
      ),
      h(
        'section',
        { class: 'social-home', 'aria-labelledby': 'home-title' },
        h('h1', { id: 'home-title' }, 'Home'),
        this.composer(),
        timeline
      )
    )
    this.changed.on(
      debounced(() => {
        fill(own, ...this.ownProfile())
        fill(people, ...this.others().map(one => this.person(one)))
        this.renderTimeline(timeline)
      }, 20)
    )
    this.listen()
  }

  private listen(): void {
    const { db } = this.client
    for (const { uid, claims } of model.people) {
      if (!uid || claims) continue
      watch(ref(db, `users/${uid}`), user => {
        if (user.exists()) this.profiles.set(uid, profileOf(uid, user.val()))
        this.changed.emit()
      })
    }
    watch(ref(db, `following/${this.uid}`), following => {
      this.following = new Set(keysOf(following.val()))
      this.changed.emit()
    })
    watch(query(ref(db, `home/${this.uid}`), orderByValue(), limitToLast(HOME)), home => {
      const ids: string[] = []
      home.forEach(entry => void ids.unshift(entry.key!))
      this.home = ids
      for (const id of ids) this.listenTo(id)
      this.changed.emit()
    })
  }

  /** A home holds ids; each status is read where it is. */
  private listenTo(id: string): void {
    if (this.listening.has(id)) return
    this.listening.add(id)
    watch(ref(this.client.db, `statuses/${id}`), status => {
      this.statuses.set(id, status.exists() ? statusOf(id, status.val()) : null)
      this.changed.emit()
    })
  }

  private others(): string[] {
    return [...this.profiles.keys()].filter(uid => uid !== this.uid)
  }

  private ownProfile(): HTMLElement[] {
    const me = this.profiles.get(this.uid)
    if (!me) return []
    const count = (n: number, one: string, many: string) =>
      h('div', null, h('dt', null, n === 1 ? one : many), h('dd', { 'data-count': many }, String(n)))
    return [
      h(
        'header',
        null,
        avatar(this.uid, me.name),
        h('div', null, h('h2', null, me.name), h('p', { class: 'entry-by' }, `@${me.login}`))
      ),
      h(
        'dl',
        { class: 'counts' },
        count(me.posts, 'status', 'statuses'),
        count(me.followers, 'follower', 'followers'),
        count(me.following, 'following', 'following')
      ),
      h(
        'button',
        { type: 'button', class: 'link', 'data-focus': 'cheat', onclick: () => this.cheat() },
        'Try to have a thousand followers'
      )
    ]
  }

  private cheat(): void {
    const path = `users/${this.uid}/followers`
    void attempt(this.client, 'A thousand followers', [`/${path}`], () =>
      set(ref(this.client.db, path), 1000)
    )
  }

  private person(uid: string): HTMLElement {
    const { name, login, followers } = this.profiles.get(uid)!
    const follows = this.following.has(uid)
    const act = follows ? unfollow : follow
    return h(
      'li',
      { class: 'person-row', 'data-uid': uid },
      avatar(uid, name),
      h(
        'div',
        null,
        h('b', null, name),
        h(
          'p',
          { class: 'entry-by' },
          `@${login} · ${followers} ${followers === 1 ? 'follower' : 'followers'}`
        )
      ),
      h(
        'button',
        {
          type: 'button',
          class: 'small',
          'aria-pressed': String(follows),
          'aria-label': `${follows ? 'Unfollow' : 'Follow'} ${name}`,
          'data-focus': uid,
          onclick: () =>
            void attempt(this.client, `${follows ? 'Unfollow' : 'Follow'} ${name}`, [], () =>
              act(this.client.db, this.uid, uid)
            )
        },
        follows ? 'Unfollow' : 'Follow'
      )
    )
  }

  private composer(): HTMLElement {
    const field = h('textarea', {
      rows: 2,
      maxlength: LONGEST,
      'aria-label': 'Status',
      placeholder: 'What is there to say?'
    })
    const left = h('span', { class: 'count' }, String(LONGEST))
    const show = () => {
      left.textContent = String(LONGEST - field.value.length)
    }
    const send = () => {
      const text = field.value.trim()
      if (!text) return
      field.value = ''
      show()
      void attempt(this.client, 'Post the status', [], () => post(this.client.db, this.uid, text))
    }
    field.addEventListener('input', show)
    field.addEventListener('keydown', event => {
      if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
      event.preventDefault()
      send()
    })
    return h(
      'form',
      {
        class: 'status-form',
        onsubmit: event => {
          event.preventDefault()
          send()
        }
      },
      field,
      h('div', { class: 'row' }, left, h('button', { type: 'submit', class: 'primary' }, 'Post'))
    )
  }

  private renderTimeline(timeline: HTMLElement): void {
    const known = this.home.map(id => this.statuses.get(id)).filter(status => !!status)
    const later = this.drawn.size > 0
    fill(timeline, ...known.map(status => this.status(status, later && !this.drawn.has(status.id))))
    for (const { id } of known) this.drawn.add(id)
    if (!known.length) fill(timeline, h('li', { class: 'empty' }, 'Nothing yet. Follow somebody.'))
  }

  private status({ id, uid, login, message, posted }: Status, fresh: boolean): HTMLElement {
    const mine = uid === this.uid
    return h(
      'li',
      { class: `status${fresh ? ' flash' : ''}`, 'data-id': id },
      avatar(uid, nameOf(uid)),
      h(
        'div',
        null,
        h(
          'p',
          { class: 'by' },
          h('b', null, nameOf(uid)),
          ` @${login} · `,
          h('time', { datetime: new Date(posted).toISOString() }, whenOf(posted))
        ),
        h('p', { class: 'text' }, message)
      ),
      mine &&
        h(
          'button',
          {
            type: 'button',
            class: 'quiet square delete',
            'aria-label': `Delete “${message}”`,
            'data-focus': `delete ${id}`,
            onclick: () =>
              void attempt(this.client, 'Delete the status', [`/statuses/${id}`], () =>
                withdraw(this.client.db, this.uid, id)
              )
          },
          icon('cross')
        )
    )
  }
}
