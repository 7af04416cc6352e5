// The tree of the database, level by level. Listing a level is a shallow read of a page of
// its keys: it costs what is shown, whatever lies below and however many keys there are. A
// level is read again when a write may have changed it, and not otherwise.

import { Changes, touches, within } from './changes.js'
import { debounced, fill, h, icon } from './dom.js'
import { model, owner, type Person } from './model.js'
import { RefusedError, shallow } from './rest.js'
import { followKeys, tabTo } from './treekeys.js'

const PAGE = 50 // keys of a level that are shown at first, and that come with each "more"
const MOST_KEYS = 1000 // of a level that are shown at all
const LONGEST = 200 // characters of a value that are shown beside its key

interface Level {
  readonly path: string
  readonly item: HTMLElement
  readonly body: HTMLElement
  open: boolean
  limit: number
  stale: boolean
}

export class Tree {
  readonly element = h('ul', { class: 'tree', role: 'tree', 'aria-label': 'The tree' })
  reader: Person = owner
  private readonly levels = new Map<string, Level>()
  private readonly soon = debounced(() => void this.renew(), 400)
  private readonly changes = new Changes(
    path => this.changed(path),
    () => this.element.isConnected
  )
  private renewing = false

  /** Calls `choose` with the path that was chosen, and `told` with those of writes. */
  constructor(
    private readonly choose: (path: string) => void,
    private readonly told: (path: string) => void
  ) {
    followKeys(this.element)
    // The view is taken out of the page and put back when others are shown.
    addEventListener('hashchange', () => setTimeout(() => this.changes.check()))
    setTimeout(() => this.changes.check())
  }

  /** Chooses the reader: the owner of the server, who may read everything, or a person. */
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
    tabTo(this.element, root.item.querySelector('button')!)
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
    const level: Level = { path, item, body, open: false, limit: PAGE, stale: false }
    this.levels.set(path, level)
    return level
  }

  private toggle(level: Level): void {
    tabTo(this.element, level.item.querySelector('button')!)
    this.choose(level.path)
    if (level.open) this.close(level)
    else void this.open(level)
  }

  private close(level: Level): void {
    level.open = false
    level.item.setAttribute('aria-expanded', 'false')
    level.body.replaceChildren()
    this.forget(path => within(path, level.path))
  }

  private forget(which: (path: string) => boolean): void {
    for (const path of this.levels.keys()) if (which(path)) this.levels.delete(path)
  }

  private async open(level: Level): Promise<void> {
    level.open = true
    level.item.setAttribute('aria-expanded', 'true')
    await this.list(level)
  }

  /** Reads a level again, and keeps what is open below it. */
  private async list(level: Level): Promise<void> {
    level.stale = false
    const preview = level.item.querySelector<HTMLElement>(':scope > button .preview')!
    try {
      const answer = await shallow(this.reader, level.path, level.limit)
      if (!level.open || this.levels.get(level.path) !== level) return
      level.item.classList.remove('locked')
      if ('value' in answer) {
        level.item.classList.add('leaf')
        preview.textContent = short(JSON.stringify(answer.value))
        level.body.replaceChildren()
        this.forget(path => within(path, level.path))
      } else this.show(level, preview, answer.keys, answer.count)
    } catch (error) {
      if (!(error instanceof RefusedError)) return // no server: what was shown stays
      level.item.classList.add('locked')
      preview.textContent = 'the rules refuse'
      preview.title = error.message
      level.body.replaceChildren()
    }
  }

  private show(level: Level, preview: HTMLElement, keys: readonly string[], count: number): void {
    level.item.classList.remove('leaf')
    preview.textContent = count.toLocaleString('en')
    const shown = keys.map(key => {
      const path = `${level.path}/${key}`
      return (this.levels.get(path) ?? this.node(path, key)).item
    })
    const rest = count - keys.length
    fill(level.body, ...shown, rest > 0 && this.more(level, rest))
    const there = new Set(keys)
    const depth = level.path.length + 1
    this.forget(path => within(path, level.path) && !there.has(path.slice(depth).split('/')[0]!))
  }

  private more(level: Level, rest: number): HTMLElement {
    const text = `${rest.toLocaleString('en')} more`
    if (level.limit >= MOST_KEYS)
      return h('li', { role: 'none', class: 'rest' }, `${text}, which are not shown here`)
    const show = () => {
      level.limit = Math.min(level.limit + PAGE, MOST_KEYS)
      void this.list(level)
    }
    return h('li', { role: 'none' }, h('button', { type: 'button', class: 'link', onclick: show }, text))
  }

  private changed(path: string): void {
    for (const level of this.levels.values())
      if (level.open && (path === '' || touches(path, level.path))) level.stale = true
    this.told(path)
    this.soon()
  }

  // One read after the other, so that a flood of writes makes no flood of reads.
  private async renew(): Promise<void> {
    if (this.renewing || !this.element.isConnected) return
    this.renewing = true
    for (const level of [...this.levels.values()]) {
      if (level.stale && level.open && this.levels.get(level.path) === level) await this.list(level)
    }
    this.renewing = false
    if ([...this.levels.values()].some(level => level.stale && level.open)) this.soon()
  }
}

export const short = (text: string): string => (text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text)
