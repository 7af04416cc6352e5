// Elements made by functions. Texts become text nodes: nothing here turns a string into
// markup, and the page's policy would not let it.

type Child = Node | string | number | null | undefined | false
type Handlers = { [K in keyof HTMLElementEventMap as `on${K}`]?: (event: HTMLElementEventMap[K]) => unknown }
type Attributes = Record<string, unknown>

/** An element with attributes, handlers (`onclick`), and children. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: (Handlers & Attributes) | null = null,
  ...children: (Child | Child[])[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value as EventListener)
    else element.setAttribute(name, value === true ? '' : String(value))
  }
  element.append(...nodes(children))
  return element
}

function nodes(children: (Child | Child[])[]): (Node | string)[] {
  return children
    .flat()
    .filter(child => child !== null && child !== undefined && child !== false)
    .map(child => (typeof child === 'number' ? String(child) : (child as Node | string)))
}

/**
 * Replaces what an element contains. Who had the focus in it has it again, if there is
 * another element with the same `data-focus`.
 */
export function fill(element: Element, ...children: (Child | Child[])[]): void {
  const had = element.contains(document.activeElement)
    ? (document.activeElement as HTMLElement).dataset.focus
    : undefined
  element.replaceChildren(...nodes(children))
  if (had === undefined || element.contains(document.activeElement)) return
  for (const next of element.querySelectorAll<HTMLElement>('[data-focus]')) {
    if (next.dataset.focus === had) next.focus({ preventScroll: true })
  }
}

const drawings = {
  lock: 'M4 7.5h8v6H4zM5.5 7.5V5a2.5 2.5 0 0 1 5 0v2.5',
  globe:
    'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM2 8h12M8 2c2 1.6 2.6 3.6 2.6 6S10 12.4 8 14c-2-1.6-2.6-3.6-2.6-6S6 3.6 8 2z',
  plus: 'M8 3v10M3 8h10',
  cross: 'M4 4l8 8M12 4l-8 8',
  check: 'M3 8.5l3.5 3.5L13 4.5',
  right: 'M6 3.5L10.5 8 6 12.5',
  up: 'M8 13V3M4 7l4-4 4 4',
  down: 'M8 3v10M4 9l4 4 4-4',
  send: 'M2.5 8L13.5 3 10 13.5 7.5 9z',
  dots: 'M3.5 8h.01M8 8h.01M12.5 8h.01',
  pause: 'M5.5 3.5v9M10.5 3.5v9',
  play: 'M5 3.5l7 4.5-7 4.5z',
  back: 'M10 3.5L5.5 8l4.5 4.5',
  window: 'M9.5 2.5h4v4M13.5 2.5L8 8M11.5 9.5v3.5h-9v-9h3.5',
  theme: 'M8 2.5a5.5 5.5 0 1 0 0 11zM8 2.5a5.5 5.5 0 0 1 0 11',
  panel: 'M2.5 3h11v10h-11zM10 3v10',
  clock: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM8 5v3.2l2 1.3',
  shield: 'M8 2l5 1.8v3.7c0 3-2 5.2-5 6.5-3-1.3-5-3.5-5-6.5V3.8z',
  arrows: 'M5 13V3M2.5 5.5L5 3l2.5 2.5M11 3v10M8.5 10.5L11 13l2.5-2.5'
}

/** One of the drawings, for the eye only. */
export function icon(name: keyof typeof drawings): SVGSVGElement {
  const namespace = 'http://www.w3.org/2000/svg'
  const svg = document.createElementNS(namespace, 'svg')
  svg.setAttribute('viewBox', '0 0 16 16')
  svg.setAttribute('class', 'icon')
  svg.setAttribute('aria-hidden', 'true')
  const path = document.createElementNS(namespace, 'path')
  path.setAttribute('d', drawings[name])
  svg.append(path)
  return svg
}

/** Everybody who was shown, in the order in which they get their colours. */
const known: string[] = []

/** Gives people their colours in this order. */
export const introduce = (ids: readonly string[]): void => void known.push(...ids)

/** The initials of somebody in a circle, in a colour of their own. */
export function avatar(id: string, name: string, online?: boolean): HTMLElement {
  const initials = name
    .split(/\s+/)
    .map(word => word[0] ?? '')
    .slice(0, 2)
    .join('')
    .toUpperCase()
  if (!known.includes(id)) known.push(id)
  const hue = known.indexOf(id) % 6
  return h('span', { class: `avatar hue${hue}${online ? ' online' : ''}`, 'aria-hidden': 'true' }, initials)
}

/** A menu that opens below its button, and closes when something in it was chosen. */
export function menu(label: string, ...items: (Child | Child[])[]): HTMLDetailsElement {
  const body = h('div', { class: 'menu-body' }, ...items)
  const details = h(
    'details',
    { class: 'menu' },
    h('summary', { 'aria-label': label, title: label }, icon('dots')),
    body
  )
  body.addEventListener('click', event => {
    if ((event.target as Element).closest('button')) details.open = false
  })
  details.addEventListener('keydown', event => {
    if (event.key !== 'Escape' || !details.open) return
    details.open = false
    details.querySelector('summary')!.focus()
  })
  document.addEventListener('pointerdown', event => {
    if (!details.contains(event.target as Node)) details.open = false
  })
  return details
}

/** A time of day as the reader writes it. */
export const timeOf = (ms: number): string =>
  new Date(ms).toLocaleTimeString([], { hour: 'numeric', minute: '2-digit' })

/** A time as the reader writes it, with the day if that is not today. */
export function whenOf(ms: number): string {
  const [then, now] = [new Date(ms), new Date()]
  if (then.toDateString() === now.toDateString()) return timeOf(ms)
  const year = then.getFullYear() === now.getFullYear() ? undefined : 'numeric'
  return `${then.toLocaleDateString([], { day: 'numeric', month: 'short', year })}, ${timeOf(ms)}`
}

/** A set of functions to call when something has changed. */
export class Signal {
  private readonly listeners = new Set<() => void>()

  /** Calls `f` from now on; returns what ends that. */
  on(f: () => void): () => void {
    this.listeners.add(f)
    return () => void this.listeners.delete(f)
  }

  emit(): void {
    for (const f of [...this.listeners]) f()
  }
}

/** Calls `f` once for any number of calls within `ms`. */
export function debounced(f: () => void, ms: number): () => void {
  let due = false
  return () => {
    if (due) return
    due = true
    setTimeout(() => {
      due = false
      f()
    }, ms)
  }
}
