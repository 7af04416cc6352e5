// The data that the page listens to, as one tree, and how it changes. What changes is
// marked for a moment. The size of what is drawn is bounded, whatever there is.

import type { DataSnapshot } from '@dogwood/client'
import { debounced, fill, h, icon } from './dom.js'
import { compareKeys } from './rest.js'
import { short } from './tree.js'
import { followKeys } from './treekeys.js'
import { watched } from './watched.js'

const MOST_ROWS = 250
const FEW = 12 // children of a place that are shown at first: the last ones, as new ones have the highest keys
const MORE = 50
const FLASH = 2400 // milliseconds, as in the style
const MOST_CHILDREN = 2000 // of a place that is shown as more than a number
const MOST_PLACES = 20_000 // that are looked at, to find out what has changed

interface Branch {
  readonly children: Map<string, Branch>
  value?: string // of a leaf
  size?: number // of a place with too many children
}

const branch = (): Branch => ({ children: new Map() })

/** Puts all that is listened to into one tree. */
function collect(): Branch {
  const root = branch()
  const left = { places: MOST_PLACES }
  for (const { path, snapshot } of watched.list) {
    if (!snapshot.exists()) continue
    let at = root
    for (const key of path.split('/').filter(Boolean)) at = childOf(at, key)
    merge(at, snapshot, left)
  }
  return root
}

function childOf(parent: Branch, key: string): Branch {
  let child = parent.children.get(key)
  if (!child) parent.children.set(key, (child = branch()))
  return child
}

/** Adds a snapshot, as long as there are places left for it. The rest is a number. */
function merge(at: Branch, snapshot: DataSnapshot, left: { places: number }): void {
  const { size } = snapshot
  left.places--
  if (size === 0) at.value = JSON.stringify(snapshot.val())
  else if (size > MOST_CHILDREN || left.places <= 0) at.size = size
  else snapshot.forEach(child => merge(childOf(at, child.key!), child, left))
}

/** All that is below a place, as a text to compare. */
const stateOf = (one: Branch): string =>
  one.value ??
  one.size?.toString() ??
  `{${[...one.children].map(([key, child]) => `${key}:${stateOf(child)}`).join()}}`

/** The tab of the data. It is drawn only while it is seen. */
export function dataView(): HTMLElement {
  const tree = h('ul', {
    class: 'tree data',
    role: 'tree',
    'aria-label': 'The data that this page listens to'
  })
  const empty = h('p', { class: 'empty' }, 'The page listens to nothing yet.')
  const count = h('span', { class: 'count' })
  const element = h(
    'div',
    null,
    h('div', { class: 'tools' }, h('p', { class: 'entry-by' }, 'What this page listens to, live'), count),
    empty,
    tree
  )
  const drawing = new Drawing(tree)
  const render = () => {
    if (!element.isConnected || !element.checkVisibility()) return
    const { rows, whole } = drawing.draw(collect())
    empty.hidden = rows > 0
    tree.hidden = rows === 0
    count.textContent = whole ? `${rows} rows` : `the first ${rows} rows`
  }
  drawing.changed = render
  const later = debounced(render, 50)
  watched.changed.on(later)
  element.addEventListener('shown', () => {
    drawing.forget()
    render()
  })
  // A sheet that opens, or a panel.
  new ResizeObserver(later).observe(element)
  followKeys(tree)
  return element
}

class Drawing {
  changed = () => {}
  private readonly closed = new Set<string>()
  private readonly limits = new Map<string, number>()
  private before?: Map<string, string>
  private now = new Map<string, string>()
  private readonly changedAt = new Map<string, number>()
  // The first leaf and the last row that have just changed.
  private first = ''
  private last = ''
  private readonly fresh = new Map<string, HTMLElement>()
  private rows = 0

  constructor(private readonly tree: HTMLElement) {}

  /** Marks nothing when it is drawn next. */
  forget(): void {
    this.before = undefined
  }

  draw(root: Branch): { rows: number; whole: boolean } {
    const focus = (document.activeElement as HTMLElement | null)?.dataset.focus
    const inside = this.tree.contains(document.activeElement)
    this.now = new Map()
    this.rows = 0
    this.fresh.clear()
    this.first = this.last = ''
    const old = performance.now() - FLASH
    for (const [path, at] of this.changedAt) if (at < old) this.changedAt.delete(path)
    fill(this.tree, ...this.items(root, ''))
    this.before = this.now
    const tabbed =
      inside && focus ? this.tree.querySelector<HTMLElement>(`[data-focus="${CSS.escape(focus)}"]`) : null
    const first = tabbed ?? this.tree.querySelector<HTMLElement>('button')
    if (first) first.tabIndex = 0
    if (!inside)
      for (const path of [this.last, this.first]) this.fresh.get(path)?.scrollIntoView({ block: 'nearest' })
    return { rows: this.rows, whole: this.rows < MOST_ROWS }
  }

  private items(parent: Branch, path: string): HTMLElement[] {
    const keys = [...parent.children.keys()].sort(compareKeys)
    const limit = this.limits.get(path) ?? FEW
    const hidden = Math.max(0, keys.length - limit)
    const items: HTMLElement[] = []
    for (const key of keys.slice(hidden)) {
      if (this.rows >= MOST_ROWS) break
      items.push(this.item(parent.children.get(key)!, `${path}/${key}`, key))
    }
    if (!hidden) return items
    const more = h(
      'button',
      {
        type: 'button',
        class: 'link',
        onclick: () => {
          this.limits.set(path, limit + MORE)
          this.changed()
        }
      },
      `${hidden} before these`
    )
    return [h('li', { role: 'none' }, more), ...items]
  }

  private item(one: Branch, path: string, key: string): HTMLElement {
    this.rows++
    const leaf = !one.children.size
    const open = !leaf && !this.closed.has(path)
    const text = this.text(one, open)
    const state = leaf || open ? text : stateOf(one)
    this.now.set(path, state)
    if (this.before !== undefined && this.before.get(path) !== state) {
      this.changedAt.set(path, performance.now())
      this.last = path
      if (leaf) this.first ||= path
    }
    const button = h(
      'button',
      {
        type: 'button',
        tabindex: -1,
        'data-focus': `data ${path}`,
        title: path,
        onclick: () => this.toggle(path, leaf)
      },
      icon('right'),
      h('span', { class: 'key' }, short(key)),
      h('span', { class: 'preview' }, text)
    )
    this.flash(path, button)
    return h(
      'li',
      {
        role: 'treeitem',
        'aria-expanded': leaf ? null : String(open),
        class: leaf ? 'leaf' : '',
        'data-path': path
      },
      button,
      open && h('ul', { role: 'group' }, ...this.items(one, path))
    )
  }

  // The mark of a change goes on where it was, when it is drawn again.
  private flash(path: string, button: HTMLElement): void {
    const since = performance.now() - (this.changedAt.get(path) ?? Number.NEGATIVE_INFINITY)
    if (since >= FLASH) {
      this.changedAt.delete(path)
      return
    }
    button.classList.add('fresh')
    button.style.animationDelay = `${-since}ms`
    this.fresh.set(path, button)
  }

  // A place says how many children it has. One that is closed changes with all below it.
  private text(one: Branch, open: boolean): string {
    if (one.size !== undefined) return `${one.size.toLocaleString('en')} children`
    if (!one.children.size) return short(one.value ?? '')
    return `${open ? '' : '… '}${one.children.size}`
  }

  private toggle(path: string, leaf: boolean): void {
    if (leaf) return
    if (!this.closed.delete(path)) this.closed.add(path)
    this.changed()
  }
}
