// The frame of the page: who is signed in, whether there is a connection, and the views.

import { notices } from './attempt.js'
import { type Client, network, onState } from './client.js'
import { avatar, fill, h, icon, menu } from './dom.js'
import { model, type Person, sample } from './model.js'
import { panel } from './panel.js'

/** A view of the page, made when it is first shown. */
export interface View {
  readonly id: string
  readonly title: string
  make(client: Client): HTMLElement
}

const STATES: Record<string, string> = {
  connected: 'Connected',
  connecting: 'Connecting',
  waiting: 'No connection',
  offline: 'Offline',
  refused: 'Refused'
}

// Being offline is no failure: the user has chosen it.
const DOTS: Record<string, string> = { connected: 'good', connecting: 'busy', offline: 'off' }

export function page(client: Client, views: readonly View[]): void {
  const { element, toggle, closeSheet } = panel(client.person.uid)
  const main = h('main', { id: 'main', tabindex: -1 })
  const tabs = h('nav', { class: 'views', 'aria-label': 'Views' })
  document.title = `${model.title} · Dogwood`
  document.body.replaceChildren(
    h('a', { class: 'skip', href: '#main', onclick: () => main.focus() }, 'Skip to the content'),
    h(
      'header',
      { class: 'top' },
      h(
        'a',
        { class: 'brand', href: '/demo/', 'aria-label': 'Dogwood demonstration' },
        flower(),
        h('span', null, 'Dogwood')
      ),
      tabs,
      connection(client),
      person(client.person),
      toggle
    ),
    notices,
    h('div', { class: 'layout' }, main, element)
  )
  const made = new Map<string, HTMLElement>()
  const show = () => {
    const view = views.find(({ id }) => location.hash === `#${id}`) ?? views[0]!
    let element = made.get(view.id)
    if (!element) made.set(view.id, (element = view.make(client)))
    fill(main, element)
    fill(
      tabs,
      ...views.map(({ id, title }) =>
        h('a', { href: `#${id}`, 'aria-current': id === view.id ? 'page' : null }, title)
      )
    )
  }
  addEventListener('hashchange', () => {
    notices.replaceChildren()
    closeSheet()
    show()
  })
  show()
}

/** Four bracts around a small head. */
function flower(): SVGSVGElement {
  const namespace = 'http://www.w3.org/2000/svg'
  const svg = document.createElementNS(namespace, 'svg')
  svg.setAttribute('viewBox', '0 0 32 32')
  svg.setAttribute('class', 'flower')
  svg.setAttribute('aria-hidden', 'true')
  for (const turn of [0, 90, 180, 270]) {
    const bract = document.createElementNS(namespace, 'path')
    bract.setAttribute(
      'd',
      'M16 15C11 11.5 9.8 6.5 12 3.2 13.4 1.2 15 2.6 16 4c1-1.4 2.6-2.8 4-.8C22.2 6.5 21 11.5 16 15z'
    )
    bract.setAttribute('transform', `rotate(${turn} 16 16)`)
    svg.append(bract)
  }
  const head = document.createElementNS(namespace, 'circle')
  for (const [name, value] of [
    ['cx', '16'],
    ['cy', '16'],
    ['r', '2.6']
  ] as const)
    head.setAttribute(name, value)
  svg.append(head)
  return svg
}

function connection(client: Client): HTMLElement {
  const state = h('span', { class: 'state-text' })
  const dot = h('span', { class: 'dot' })
  const button = h('button', {
    type: 'button',
    class: 'quiet small switch',
    onclick: () => {
      network.off = !network.off
    }
  })
  const banner = h('p', { class: 'banner', role: 'status', hidden: true })
  const render = () => {
    button.textContent = network.off ? 'Go online' : 'Go offline'
  }
  network.changed.on(render)
  render()
  onState(client, now => {
    state.textContent = STATES[now] ?? now
    dot.className = `dot ${DOTS[now] ?? 'bad'}`
    document.body.dataset.state = now
    banner.hidden = now === 'connected' || now === 'connecting'
    banner.textContent =
      now === 'offline'
        ? 'You are offline. You see what was here before; what you write is kept and sent when you are back.'
        : 'The server cannot be reached. What you write is kept and sent as soon as it can.'
  })
  return h(
    'div',
    { class: 'connection' },
    h('span', { class: 'state', role: 'status' }, dot, state),
    button,
    banner
  )
}

function addressOf(person: Person): string {
  return `/demo/?as=${encodeURIComponent(person.id)}`
}

function person(user: Person): HTMLElement {
  const select: HTMLSelectElement = h(
    'select',
    {
      'aria-label': 'Signed in as',
      onchange: () =>
        location.assign(addressOf(model.people.find(({ id }) => id === select.value)!) + location.hash)
    },
    ...model.people.map(one => h('option', { value: one.id, selected: one.id === user.id }, one.name))
  )
  const others = model.people.filter(one => one.id !== user.id)
  const second = menu(
    'Second window and appearance',
    h('p', { class: 'menu-title' }, 'Open a second window as'),
    ...others.map(one =>
      h(
        'a',
        { href: addressOf(one), target: '_blank', rel: 'noopener' },
        avatar(one.uid ?? one.id, one.name),
        one.name,
        icon('window')
      )
    ),
    h('p', { class: 'menu-title' }, 'Appearance'),
    ...(['system', 'light', 'dark'] as const).map(theme =>
      h('button', { type: 'button', onclick: () => setTheme(theme) }, icon('theme'), THEMES[theme])
    ),
    h('p', { class: 'menu-note' }, `Sample: ${sample}`)
  )
  return h('div', { class: 'person' }, avatar(user.uid ?? user.id, user.name), select, second)
}

const THEMES = { system: 'As the system', light: 'Light', dark: 'Dark' }
const THEME = 'dogwood-demo-theme'

function setTheme(theme: keyof typeof THEMES): void {
  localStorage.setItem(THEME, theme)
  document.documentElement.dataset.theme = theme
}

/** Puts the appearance that was chosen before in force. */
export function restoreTheme(): void {
  document.documentElement.dataset.theme = localStorage.getItem(THEME) ?? 'system'
}
