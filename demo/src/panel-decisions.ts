// The list of decisions, newest first, each with the rules that were asked. Equal
// decisions, as when clients listen to a place again and again, are one entry with a number.

import { reasonOf, shown } from './attempt.js'
import { type Decision, decisions } from './decisions.js'
import { fill, h, icon } from './dom.js'
import { model, nameOf } from './model.js'
import { drawStep } from './rule.js'

const MOST_SHOWN = 80

const two = (n: number, width = 2) => String(n).padStart(width, '0')
export const clockOf = (ms: number): string => {
  const t = new Date(ms)
  return `${two(t.getHours())}:${two(t.getMinutes())}:${two(t.getSeconds())}.${two(t.getMilliseconds(), 3)}`
}

/** Decisions that are one entry: the newest, and how many there are. */
interface Group {
  decision: Decision
  count: number
}

const SAME = 10_000 // milliseconds between decisions that are one entry

/** Puts together what the same user did in the same way, newest first. */
function grouped(list: readonly Decision[]): Group[] {
  const groups: Group[] = []
  const last = new Map<string, { group: Group; time: number }>()
  for (const decision of list.toReversed()) {
    const key = `${decision.uid} ${decision.report.allow} ${decision.report.operation}`
    const seen = last.get(key)
    if (seen && decision !== shown.decision && seen.time - decision.time < SAME) {
      seen.group.count++
      seen.time = decision.time
      continue
    }
    const group = { decision, count: 1 }
    groups.push(group)
    last.set(key, { group, time: decision.time })
  }
  return groups
}

/** What goes on all the time and was allowed, such as typing. */
const isQuiet = ({ paths, report }: Decision): boolean =>
  report.allow &&
  paths.length > 0 &&
  paths.every(path => model.quiet?.some(quiet => path === quiet || path.startsWith(`${quiet}/`)))

export function decisionsView(uid: string | undefined): HTMLElement {
  const items = new Map<number, HTMLElement>()
  const list = h('ol', { class: 'log' })
  const empty = h('p', { class: 'empty' }, 'What the rules allow and refuse appears here.')
  const filters = { mine: false, denied: false, quiet: false }

  const wanted = (d: Decision) =>
    (!filters.mine || d.uid === (uid ?? '')) &&
    (!filters.denied || !d.report.allow) &&
    (filters.quiet || !isQuiet(d))
  const render = () => {
    const visible = grouped(decisions.list.filter(wanted)).slice(0, MOST_SHOWN)
    for (const { decision: d, count } of visible) {
      if (!items.has(d.n)) items.set(d.n, item(d, d.uid !== '' && d.uid === uid))
      const times = items.get(d.n)!.querySelector('.times')!
      times.textContent = count > 1 ? `${count}×` : ''
    }
    const known = new Set(decisions.list.map(d => d.n))
    for (const n of items.keys()) if (!known.has(n)) items.delete(n)
    fill(list, ...visible.map(({ decision }) => items.get(decision.n)!))
    empty.hidden = visible.length > 0
  }
  const filter = (name: keyof typeof filters, text: string) =>
    h(
      'label',
      { class: 'check' },
      h('input', {
        type: 'checkbox',
        onchange: event => {
          filters[name] = (event.target as HTMLInputElement).checked
          render()
        }
      }),
      text
    )
  decisions.changed.on(render)
  shown.changed.on(() => {
    const { decision } = shown
    if (!decision) return
    if (!items.has(decision.n)) items.set(decision.n, item(decision, decision.uid === uid))
    render()
    const element = items.get(decision.n)!
    toggle(element, true)
    element.classList.add('flash')
    requestAnimationFrame(() => {
      element.scrollIntoView({ block: 'nearest' })
      element.querySelector('button')?.focus({ preventScroll: true })
    })
  })
  render()
  return h(
    'div',
    null,
    h(
      'div',
      { class: 'tools' },
      filter('mine', 'Only mine'),
      filter('denied', 'Only refused'),
      model.quiet !== undefined && filter('quiet', 'Typing and presence')
    ),
    empty,
    list
  )
}

const details = new WeakMap<HTMLElement, () => HTMLElement>()

function item(d: Decision, mine: boolean): HTMLElement {
  const { report } = d
  const [verb = '', ...rest] = report.operation.split(' ')
  const path = rest.join(' ')
  const button: HTMLElement = h(
    'button',
    { type: 'button', class: 'entry', 'aria-expanded': 'false', onclick: () => toggle(element) },
    h('span', { class: `chip ${report.allow ? 'good' : 'bad'}` }, report.allow ? 'allowed' : 'denied'),
    // The end of a path tells most, so a long one loses its beginning.
    h(
      'span',
      { class: 'entry-main verb', title: report.operation },
      `${verb} `,
      h('span', { class: 'tail' }, h('bdi', null, path)),
      h('span', { class: 'times' })
    ),
    h(
      'span',
      { class: 'entry-by' },
      d.uid ? nameOf(d.uid) : 'nobody',
      mine && ' (you)',
      ' · ',
      clockOf(d.time)
    )
  )
  const element: HTMLElement = h('li', null, button)
  details.set(element, () => detail(d))
  return element
}

function toggle(element: HTMLElement, open?: boolean): void {
  const button = element.querySelector('button')!
  const isOpen = button.getAttribute('aria-expanded') === 'true'
  if (isOpen === (open ?? !isOpen)) return
  button.setAttribute('aria-expanded', String(!isOpen))
  if (isOpen) element.querySelector('.detail')?.remove()
  else element.append(details.get(element)!())
}

const FEW = 12

function detail(d: Decision): HTMLElement {
  const { steps, allow } = d.report
  const asked = steps.filter(step => step.outcome !== 'skipped' || step.deciding)
  // The one that decided first, then the others in the order in which they were asked.
  const ordered = [...asked.filter(s => s.deciding), ...asked.filter(s => !s.deciding)]
  const more = ordered.length - FEW
  return h(
    'div',
    { class: 'detail' },
    h(
      'p',
      { class: `why ${allow ? 'good' : 'bad'}` },
      icon(allow ? 'check' : 'cross'),
      h('span', null, reasonOf(d))
    ),
    d.paths.length > 1 &&
      h(
        'ul',
        { class: 'paths', 'aria-label': 'Paths of the write' },
        ...d.paths.map(path => h('li', null, path))
      ),
    ...ordered.slice(0, FEW).map(drawStep),
    more > 0 && h('p', { class: 'empty' }, `and ${more} more rules, which agreed`)
  )
}
