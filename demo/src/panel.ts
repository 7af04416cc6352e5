// The panel beside the page: how the rules decided, the data that the page listens to, and
// what goes over the wire. Where there is no room beside the page it is a sheet at the bottom.

import { shown } from './attempt.js'
import { decisions } from './decisions.js'
import { fill, h, icon } from './dom.js'
import { dataView } from './panel-data.js'
import { decisionsView } from './panel-decisions.js'
import { framesView } from './panel-frames.js'

const WIDE = matchMedia('(min-width: 1100px)')
const TITLE = 'Rules, data and messages'
const STORED = 'dogwood-demo-panel'

export interface Panel {
  readonly element: HTMLElement
  readonly toggle: HTMLButtonElement
  /** Closes it where it is a sheet, which covers the page. */
  closeSheet(): void
}

/** Makes the panel for the user with `uid`. */
export function panel(uid: string | undefined): Panel {
  const views = { decisions: decisionsView(uid), data: dataView(), frames: framesView() }
  const tabs = new Map<string, HTMLButtonElement>()
  const body = h('div', { class: 'panel-body', id: 'panel-body', role: 'tabpanel' })
  const latest = h('span', { class: 'latest' })

  const select = (name: keyof typeof views) => {
    for (const [other, tab] of tabs) {
      tab.setAttribute('aria-selected', String(other === name))
      tab.tabIndex = other === name ? 0 : -1
    }
    body.setAttribute('aria-labelledby', `tab-${name}`)
    fill(body, views[name])
    body.scrollTop = 0
    views[name].dispatchEvent(new Event('shown'))
  }
  const tab = (name: keyof typeof views, text: string) => {
    const button = h(
      'button',
      {
        type: 'button',
        role: 'tab',
        id: `tab-${name}`,
        'aria-controls': 'panel-body',
        onclick: () => select(name)
      },
      text
    )
    tabs.set(name, button)
    return button
  }
  const list = h(
    'div',
    { role: 'tablist', class: 'tabs', 'aria-label': 'What to show' },
    tab('decisions', 'Rules'),
    tab('data', 'Data'),
    tab('frames', 'Messages')
  )
  list.addEventListener('keydown', event => {
    if (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight') return
    const names = Object.keys(views) as (keyof typeof views)[]
    const at = names.findIndex(name => body.contains(views[name]))
    const next = names[(at + (event.key === 'ArrowRight' ? 1 : names.length - 1)) % names.length]!
    select(next)
    tabs.get(next)!.focus()
  })

  const handle = h(
    'button',
    {
      type: 'button',
      class: 'handle',
      'aria-expanded': 'false',
      'aria-controls': 'panel',
      onclick: () => open(!isOpen())
    },
    h('span', { class: 'handle-title' }, icon('shield'), TITLE),
    latest,
    icon('up')
  )
  const close = h(
    'button',
    { type: 'button', class: 'quiet square', 'aria-label': 'Close the panel', onclick: () => open(false) },
    icon('cross')
  )
  const element = h(
    'aside',
    { class: 'panel', id: 'panel', 'aria-label': 'What happens behind the page' },
    handle,
    h('div', { class: 'panel-inside' }, h('div', { class: 'panel-head' }, list, close), body)
  )
  const toggle = h(
    'button',
    {
      type: 'button',
      class: 'quiet square panel-toggle',
      title: TITLE,
      'aria-label': TITLE,
      onclick: () => open(!isOpen())
    },
    icon('panel')
  )
  const isOpen = () => document.body.classList.contains('panel-open')
  const open = (wanted: boolean, remember = true) => {
    document.body.classList.toggle('panel-open', wanted)
    handle.setAttribute('aria-expanded', String(wanted))
    toggle.setAttribute('aria-expanded', String(wanted))
    if (remember && WIDE.matches) localStorage.setItem(STORED, wanted ? 'open' : 'closed')
  }

  decisions.changed.on(() => {
    const last = decisions.list.at(-1)
    if (!last) return
    fill(
      latest,
      h('span', { class: `dot ${last.report.allow ? 'good' : 'bad'}` }),
      `${last.report.allow ? 'allowed' : 'denied'} ${last.report.operation}`
    )
  })
  shown.changed.on(() => {
    select('decisions')
    open(true, false)
  })
  select('decisions')
  open(WIDE.matches && localStorage.getItem(STORED) !== 'closed', false)
  return {
    element,
    toggle,
    closeSheet: () => {
      if (!WIDE.matches) open(false, false)
    }
  }
}
