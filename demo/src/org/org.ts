// The view of users and groups: both sides of the memberships beside each other, and each
// change as the update that is sent, whole or on purpose by half.

import { ref, update } from '@dogwood/client'
import { outcomeOf, showOutcome } from '../attempt.js'
import { type Client, connect } from '../client.js'
import { avatar, debounced, fill, h, icon } from '../dom.js'
import { model, nameOf, personOf } from '../model.js'
import type { View } from '../page.js'
import { type Group, Memberships, type Seen, type User } from './membership.js'

const GROUPS = ['alpha', 'bravo', 'charlie'] // those of the sample

/** Which part of an update is sent. */
type Half = 'both' | 'group' | 'user'

const HALVES: Record<Half, string> = {
  both: 'Both halves',
  group: 'The group’s half',
  user: 'The user’s half'
}

export const org: View = {
  id: 'org',
  title: 'Users and groups',
  make: client => new Org(client).element
}

class Org {
  readonly element: HTMLElement
  private half: Half = 'both'
  private seen?: Memberships
  private own?: Memberships
  private readonly users = h('ul', { class: 'cards', 'aria-label': 'Users' })
  private readonly groups = h('ul', { class: 'cards', 'aria-label': 'Groups' })
  private readonly sent = h('div', { class: 'sent-update', 'aria-live': 'polite' })
  private end = () => {}

  constructor(private readonly client: Client) {
    this.element = h(
      'div',
      { class: 'org' },
      h('div', { class: 'org-tools' }, this.eyes(), this.halves()),
      h(
        'div',
        { class: 'update', role: 'group', 'aria-label': 'The last update' },
        h('h2', null, 'The last update, as it was sent'),
        this.sent
      ),
      h('section', { 'aria-labelledby': 'users-title' }, h('h1', { id: 'users-title' }, 'Users'), this.users),
      h(
        'section',
        { 'aria-labelledby': 'groups-title' },
        h('h1', { id: 'groups-title' }, 'Groups'),
        this.groups,
        this.creation()
      )
    )
    fill(
      this.sent,
      h('p', { class: 'empty' }, 'Add or remove a member. Both sides change by one write, or neither does.')
    )
    void this.see('auditor')
  }

  // ---- whose eyes

  private eyes(): HTMLElement {
    const { person } = this.client
    const auditor = personOf('auditor')!
    const select = h(
      'select',
      null,
      person.id !== auditor.id &&
        h('option', { value: auditor.id }, `the ${auditor.name.toLowerCase()}, who may read all`),
      h('option', { value: person.id }, `${person.name}, by the rules`)
    )
    select.addEventListener('change', () => void this.see(select.value))
    return h('label', { class: 'reader' }, 'Seen by ', select)
  }

  private async see(id: string): Promise<void> {
    const { person } = this.client
    const seen =
      id === person.id
        ? (this.own ??= new Memberships(this.client, GROUPS))
        : new Memberships(await connect(personOf(id)!, { keep: true }), GROUPS)
    if (this.seen && this.seen !== this.own) this.seen.close()
    this.end()
    this.seen = seen
    this.end = seen.changed.on(() => this.render())
    this.render()
  }

  private halves(): HTMLElement {
    const radio = (half: Half) =>
      h(
        'label',
        { class: 'segment' },
        h('input', {
          type: 'radio',
          name: 'half',
          value: half,
          checked: half === this.half,
          onchange: () => {
            this.half = half
          }
        }),
        h('span', null, HALVES[half])
      )
    return h(
      'fieldset',
      { class: 'segments' },
      h('legend', null, 'What is sent'),
      h('div', null, radio('both'), radio('group'), radio('user'))
    )
  }

  // ---- changing

  private async change(what: string, group: string, user: string, member: true | null): Promise<void> {
    const values: Record<string, unknown> = {}
    if (this.half !== 'user') values[`groups/${group}/members/${user}`] = member
    if (this.half !== 'group') values[`users/${user}/groups/${group}`] = member
    await this.send(what, values)
  }

  private async send(what: string, values: Record<string, unknown>): Promise<void> {
    const result = h(
      'div',
      { class: 'result' },
      h('p', { class: 'verdict' }, icon('clock'), 'waits for the server')
    )
    const lines = Object.entries(values).map(([path, value]) =>
      h(
        'li',
        null,
        h('code', { class: 'path' }, path),
        h('code', { class: value === null ? 'gone' : '' }, JSON.stringify(value))
      )
    )
    fill(
      this.sent,
      h(
        'p',
        null,
        h('b', null, what),
        ` as ${this.client.person.name}: `,
        h('code', null, 'update(/)'),
        ` of ${lines.length} ${lines.length > 1 ? 'paths' : 'path'}`
      ),
      h('ul', { class: 'update-paths' }, ...lines),
      result
    )
    const paths = Object.keys(values).map(path => `/${path}`)
    const outcome = await outcomeOf(this.client, paths, () => update(ref(this.client.db), values))
    showOutcome(result, outcome, 'Committed')
    this.own?.retry()
  }

  private creation(): HTMLElement | null {
    const { uid, claims, name } = this.client.person
    if (!uid || claims) return null
    const field = h('input', {
      type: 'text',
      required: true,
      maxlength: 80,
      'aria-label': 'Name of the new group',
      placeholder: 'Name of a new group',
      autocomplete: 'off'
    })
    return h(
      'form',
      {
        class: 'new-group',
        onsubmit: event => {
          event.preventDefault()
          const id = `${field.value
            .trim()
            .toLowerCase()
            .replace(/[^a-z0-9]+/g, '-')}-${Date.now().toString(36)}`
          void this.send(`Create “${field.value.trim()}”`, {
            [`groups/${id}`]: { name: field.value.trim(), owner: uid, members: { [uid]: true } },
            [`users/${uid}/groups/${id}`]: true
          }).then(() => this.seen?.know(id))
          field.value = ''
        }
      },
      field,
      h('button', { type: 'submit' }, `Create as ${name}`)
    )
  }

  // ---- showing

  private readonly render = debounced(() => {
    // A member that was added shows in both lists at once, so both are drawn together.
    fill(this.users, ...[...(this.seen?.users ?? [])].map(([id, user]) => this.userCard(id, user)))
    fill(this.groups, ...[...(this.seen?.groups ?? [])].map(([id, group]) => this.groupCard(id, group)))
  }, 20)

  private readonly drawn = new Set<string>()

  /** Marks what was not there when it was drawn before. */
  private fresh(key: string): string {
    const fresh = this.drawn.size > 0 && !this.drawn.has(key)
    this.drawn.add(key)
    return fresh ? ' flash' : ''
  }

  private userCard(id: string, user: Seen<User>): HTMLElement {
    if (!user || user === 'refused') return this.locked(id, nameOf(id), `/users/${id}`, user)
    const items = user.groups.map(group => {
      const seen = this.seen?.groups.get(group)
      return this.pair(
        `u ${id} ${group}`,
        typeof seen === 'object' ? seen.name : group,
        group,
        id,
        `Take ${user.name} out of ${group}`
      )
    })
    return h(
      'li',
      { class: `card${id === this.client.person.uid ? ' own' : ''}`, 'data-user': id },
      h('header', null, avatar(id, user.name), h('h2', null, user.name), h('code', null, `/users/${id}`)),
      h(
        'ul',
        { class: 'pairs', 'aria-label': `Groups of ${user.name}` },
        ...(items.length ? items : [h('li', { class: 'empty' }, 'in no group')])
      )
    )
  }

  private groupCard(id: string, group: Seen<Group>): HTMLElement | null {
    if (group === undefined) return null // it is gone, or not known yet
    if (group === 'refused') return this.locked(id, id, `/groups/${id}`, group)
    const items = group.members.map(uid =>
      this.pair(`g ${id} ${uid}`, nameOf(uid), id, uid, `Take ${nameOf(uid)} out of ${group.name}`)
    )
    const others = model.people.filter(({ uid, claims }) => uid && !claims && !group.members.includes(uid))
    return h(
      'li',
      { class: 'card', 'data-group': id },
      h(
        'header',
        null,
        h('h2', null, group.name),
        h('span', { class: 'tag' }, `of ${nameOf(group.owner)}`),
        h('code', null, `/groups/${id}`)
      ),
      h(
        'ul',
        { class: 'pairs', 'aria-label': `Members of ${group.name}` },
        ...(items.length ? items : [h('li', { class: 'empty' }, 'no members')])
      ),
      others.length > 0 &&
        h(
          'div',
          { class: 'row add' },
          ...others.map(({ uid, name }) =>
            h(
              'button',
              {
                type: 'button',
                class: 'quiet small',
                'data-focus': `add ${id} ${uid}`,
                'data-add': uid,
                onclick: () => void this.change(`Add ${name} to ${group.name}`, id, uid!, true)
              },
              icon('plus'),
              name
            )
          )
        )
    )
  }

  private pair(key: string, text: string, group: string, user: string, what: string): HTMLElement {
    return h(
      'li',
      { class: `pair${this.fresh(key)}` },
      h('span', null, text),
      h(
        'button',
        {
          type: 'button',
          class: 'quiet',
          'aria-label': what,
          title: what,
          'data-focus': key,
          onclick: () => void this.change(what, group, user, null)
        },
        icon('cross')
      )
    )
  }

  private locked(id: string, name: string, path: string, seen: 'refused' | undefined): HTMLElement {
    this.drawn.add(`${id} `)
    return h(
      'li',
      { class: 'card closed' },
      h('header', null, icon('lock'), h('h2', null, name), h('code', null, path)),
      h(
        'p',
        { class: 'empty' },
        seen ? `The rules show this to others than ${this.client.person.name}.` : 'Not there.'
      )
    )
  }
}
