// The tree of the database, level by level, and one place of it live. Listing a level is
// a shallow read: it costs what is listed, whatever lies below.

import { limitToFirst, onValue, query, ref, set } from '@dogwood/client'
import { outcomeOf, showOutcome } from './attempt.js'
import type { Client } from './client.js'
import { decisions } from './decisions.js'
import { debounced, fill, h, icon } from './dom.js'
import { model, owner, type Person } from './model.js'
import { clientOf, operationsView } from './operations.js'
import type { View } from './page.js'
import { RefusedError, shallow } from './rest.js'
import { frames } from './tap.js'

const PAGE = 50 // keys of a level that are shown at first
const PERIOD = 2500 // after which the open levels are read again

export const explorer: View = {
  id: 'explorer',
  title: 'Explorer',
  make(client) {
    const place = new Place(client)
    const tree: Tree = new Tree(path => place.show(path, tree.reader))
    tree.begin()
    return h(
      'div',
      { class: 'explorer' },
      h(
        'section',
        { class: 'browser', 'aria-labelledby': 'tree-title' },
        h('h1', { id: 'tree-title' }, model.title),
        h('p', { class: 'lead' }, model.about),
        h('label', { class: 'reader' }, 'Read as ', tree.choice(client.person)),
        tree.element,
        place.element
      ),
      operationsView()
    )
  }
}

interface Level {
  readonly path: string
  readonly item: HTMLElement
  readonly body: HTMLElement
  open: boolean
  limit: number
}

class Tree {
  readonly element = h('ul', { class: 'tree', role: 'tree', 'aria-label': 'The tree' })
  reader: Person = owner
  private readonly levels = new Map<string, Level>()

  constructor(private readonly choose: (path: string) => void) {
    const soon = debounced(() => void this.renew(), 400)
    decisions.changed.on(soon)
    frames.activity.on(soon)
    // What the owner of the server writes is decided by no rule, and so told by nobody.
    setInterval(() => {
      if (!document.hidden) soon()
    }, PERIOD)
    this.element.addEventListener('keydown', event => this.key(event))
  }

  /** Who reads: the owner of the server, who may read everything, or somebody else. */
  choice(user: Person): HTMLSelectElement {
    const people = [owner, user, ...model.people.filter(one => one !== user)]
    const select = h('select', null, ...people.map(one => h('option', { value: one.id }, one.name)))
    select.addEventListener('change', () => {
      this.reader = people.find(({ id }) => id === select.value)!
      this.begin()
    })
    return select
  }

  begin(): void {
    this.levels.clear()
    const root = this.node('', '/')
    fill(this.element, root.item)
    root.item.querySelector('button')!.tabIndex = 0
    void this.open(root)
    this.choose('')
  }

  private node(path: string, key: string): Level {
    const body = h('ul', { role: 'group' })
    const preview = h('span', { class: 'preview' })
    const button = h(
      'button',
      { type: 'button', tabindex: -1, 'data-focus': `tree ${path}`, onclick: () => this.toggle(level) },
      icon('right'),
      h('span', { class: 'key' }, key),
      preview
    )
    const item = h('li', { role: 'treeitem', 'aria-expanded': 'false', 'data-path': path }, button, body)
    const level: Level = { path, item, body, open: false, limit: PAGE }
    this.levels.set(path, level)
    return level
  }

  private toggle(level: Level): void {
    for (const other of this.element.querySelectorAll('button[tabindex="0"]'))
      (other as HTMLElement).tabIndex = -1
    level.item.querySelector('button')!.tabIndex = 0
    this.choose(level.path)
    if (level.open) this.close(level)
    else void this.open(level)
  }

  private close(level: Level): void {
    level.open = false
    level.item.setAttribute('aria-expanded', 'false')
    level.body.replaceChildren()
    for (const path of this.levels.keys()) if (path.startsWith(`${level.path}/`)) this.levels.delete(path)
  }

  private async open(level: Level): Promise<void> {
    level.open = true
    level.item.setAttribute('aria-expanded', 'true')
    await this.list(level)
  }

  /** Reads a level again, and keeps what is open below it. */
  private async list(level: Level): Promise<void> {
    const preview = level.item.querySelector(':scope > button .preview')!
    try {
      const answer = await shallow(this.reader, level.path)
      if (!level.open || this.levels.get(level.path) !== level) return
      level.item.classList.remove('locked')
      if ('value' in answer) {
        level.item.classList.add('leaf')
        preview.textContent = JSON.stringify(answer.value)
        level.body.replaceChildren()
        return
      }
      level.item.classList.remove('leaf')
      const { keys } = answer
      preview.textContent = `${keys.length}`
      const shown = keys.slice(0, level.limit).map(key => {
        const path = `${level.path}/${key}`
        return (this.levels.get(path) ?? this.node(path, key)).item
      })
      const rest = keys.length - shown.length
      fill(level.body, ...shown, rest > 0 && this.more(level, rest))
      for (const path of this.levels.keys()) {
        const key = path.startsWith(`${level.path}/`) ? path.slice(level.path.length + 1) : ''
        if (key && !key.includes('/') && !keys.includes(key)) this.levels.delete(path)
      }
    } catch (error) {
      if (!(error instanceof RefusedError)) return // no server: what was shown stays
      level.item.classList.add('locked')
      preview.textContent = 'the rules refuse'
      ;(preview as HTMLElement).title = error.message
      level.body.replaceChildren()
    }
  }

  private more(level: Level, rest: number): HTMLElement {
    const show = () => {
      level.limit += PAGE
      void this.list(level)
    }
    return h(
      'li',
      { role: 'none' },
      h('button', { type: 'button', class: 'link', onclick: show }, `${rest} more`)
    )
  }

  private async renew(): Promise<void> {
    if (!this.element.isConnected) return
    for (const level of [...this.levels.values()]) if (level.open) await this.list(level)
  }

  // Up and down go through what is visible, right and left open and close.
  private key(event: KeyboardEvent): void {
    const all = [...this.element.querySelectorAll<HTMLElement>('[role=treeitem] > button')]
    const at = all.indexOf(document.activeElement as HTMLElement)
    const level = this.levels.get((all[at]?.parentElement as HTMLElement | undefined)?.dataset.path ?? '\0')
    if (!level) return
    const go = (to: HTMLElement | undefined) => {
      if (!to) return
      all[at]!.tabIndex = -1
      to.tabIndex = 0
      to.focus()
    }
    if (event.key === 'ArrowDown') go(all[at + 1])
    else if (event.key === 'ArrowUp') go(all[at - 1])
    else if (event.key === 'ArrowRight' && !level.open) this.toggle(level)
    else if (event.key === 'ArrowLeft' && level.open) this.toggle(level)
    else return
    event.preventDefault()
  }
}

/** One place of the tree: its value as it changes, and a field to write to it. */
class Place {
  readonly element = h('section', { class: 'place', 'aria-label': 'The chosen place' })
  private end = () => {}

  constructor(private readonly client: Client) {}

  show(path: string, reader: Person): void {
    this.end()
    this.end = () => {}
    const value = h('pre', { class: 'source live', 'aria-live': 'off' })
    fill(
      this.element,
      h('h2', null, h('code', null, path || '/'), h('span', { class: 'tag' }, 'live')),
      path ? value : h('p', { class: 'empty' }, 'Choose a place to see its value change.'),
      path ? this.writer(path) : null
    )
    if (path) void this.listen(path, reader, value)
  }

  private async listen(path: string, reader: Person, place: HTMLElement): Promise<void> {
    const { db } = reader === this.client.person ? this.client : await clientOf(reader)
    // A limit shows nothing of a value that has no children.
    const answer = await shallow(reader, path).catch(() => undefined)
    const whole = answer !== undefined && 'value' in answer
    if (!place.isConnected) return
    let before: string[] | undefined
    this.end = onValue(
      whole ? ref(db, path) : query(ref(db, path), limitToFirst(PAGE)),
      snapshot => {
        const lines = JSON.stringify(snapshot.val(), null, 2).split('\n')
        const old = before && new Set(before)
        place.replaceChildren(
          ...lines.map(line => h('span', { class: old && !old.has(line) ? 'fresh' : '' }, `${line}\n`))
        )
        before = lines
      },
      error => place.replaceChildren(error.message)
    )
  }

  private writer(path: string): HTMLElement {
    const field = h('textarea', {
      rows: 2,
      spellcheck: 'false',
      'aria-label': `Value to write to ${path}`,
      placeholder: 'A value as JSON'
    })
    const result = h('div', { class: 'result', 'aria-live': 'polite' })
    const write = async (text: string) => {
      const outcome = await outcomeOf(this.client, [path], async () =>
        set(ref(this.client.db, path), JSON.parse(text))
      )
      showOutcome(result, outcome, 'Committed')
    }
    return h(
      'details',
      { class: 'writer' },
      h('summary', null, `Write here as ${this.client.person.name}`),
      h(
        'form',
        {
          onsubmit: event => {
            event.preventDefault()
            void write(field.value)
          }
        },
        field,
        h(
          'div',
          { class: 'row' },
          h('button', { type: 'submit', class: 'small' }, 'Set'),
          h('button', { type: 'button', class: 'quiet small', onclick: () => void write('null') }, 'Remove')
        ),
        result
      )
    )
  }
}
