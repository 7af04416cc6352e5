// The messages of the protocol, newest first.

import { debounced, fill, h, icon } from './dom.js'
import { clockOf } from './panel-decisions.js'
import { type Frame, frames, MOST_FRAMES } from './tap.js'

const MOST_SHOWN = 150

const requests: Record<string, string> = {
  q: 'listen',
  n: 'stop listening',
  p: 'put',
  m: 'merge',
  g: 'get',
  o: 'on disconnect: put',
  om: 'on disconnect: merge',
  oc: 'on disconnect: cancel',
  auth: 'sign in',
  gauth: 'sign in',
  unauth: 'sign out',
  s: 'statistics'
}
const news: Record<string, string> = { d: 'data', m: 'merge', c: 'listen revoked', ac: 'signed out' }
const control: Record<string, string> = {
  h: 'handshake',
  p: 'are you there?',
  o: 'yes',
  r: 'go elsewhere',
  s: 'shutdown'
}

/** What a message is, in words, and which path it is about. */
function describe({ message, sent }: Frame): { what: string; path: string } {
  const { t, d } = message
  if (t === 'c') return { what: control[d?.t] ?? 'control', path: '' }
  const path = typeof d?.b?.p === 'string' ? `/${d.b.p.replace(/^\/+/, '')}` : ''
  if (!('r' in d)) return { what: news[d.a] ?? d.a, path }
  return sent ? { what: requests[d.a] ?? d.a, path } : { what: `answer: ${d.b?.s}`, path: '' }
}

export function framesView(): HTMLElement {
  const items = new Map<number, HTMLElement>()
  const list = h('ol', { class: 'log' })
  const empty = h('p', { class: 'empty' }, 'Nothing yet.')
  const count = h('span', { class: 'count' })
  const wanted = { text: '', sent: true, received: true }

  const matches = (frame: Frame) =>
    (frame.sent ? wanted.sent : wanted.received) &&
    (!wanted.text || JSON.stringify(frame.message).toLowerCase().includes(wanted.text))
  const render = () => {
    const visible = frames.list.filter(matches).slice(-MOST_SHOWN).reverse()
    for (const frame of visible) if (!items.has(frame.n)) items.set(frame.n, item(frame))
    const oldest = frames.list[0]?.n ?? Number.POSITIVE_INFINITY
    for (const n of items.keys()) if (n < oldest) items.delete(n)
    fill(list, ...visible.map(frame => items.get(frame.n)!))
    empty.hidden = visible.length > 0
    count.textContent = frames.paused
      ? `paused, ${frames.missed} missed`
      : `${frames.list.length} of at most ${MOST_FRAMES}`
  }
  const later = debounced(render, 60)
  frames.changed.on(later)

  const pause = h(
    'button',
    { type: 'button', class: 'quiet small', 'aria-pressed': 'false' },
    icon('pause'),
    'Pause'
  )
  pause.addEventListener('click', () => {
    frames.pause(!frames.paused)
    pause.setAttribute('aria-pressed', String(frames.paused))
    fill(pause, icon(frames.paused ? 'play' : 'pause'), frames.paused ? 'Go on' : 'Pause')
    render()
  })
  const check = (name: 'sent' | 'received', text: string) =>
    h(
      'label',
      { class: 'check' },
      h('input', {
        type: 'checkbox',
        checked: true,
        onchange: event => {
          wanted[name] = (event.target as HTMLInputElement).checked
          render()
        }
      }),
      text
    )
  const search = h('input', {
    type: 'search',
    placeholder: 'Filter',
    'aria-label': 'Filter the messages',
    oninput: () => {
      wanted.text = search.value.trim().toLowerCase()
      render()
    }
  })
  render()
  return h(
    'div',
    null,
    h(
      'div',
      { class: 'tools' },
      search,
      check('sent', 'Sent'),
      check('received', 'Received'),
      pause,
      h('button', { type: 'button', class: 'quiet small', onclick: () => frames.clear() }, 'Clear'),
      count
    ),
    empty,
    list
  )
}

function item(frame: Frame): HTMLElement {
  const { what, path } = describe(frame)
  const button = h(
    'button',
    { type: 'button', class: 'entry', 'aria-expanded': 'false' },
    h(
      'span',
      { class: `chip arrow ${frame.sent ? 'sent' : ''}`, title: frame.sent ? 'sent' : 'received' },
      icon(frame.sent ? 'up' : 'down'),
      h('span', { class: 'unseen' }, frame.sent ? 'sent' : 'received')
    ),
    h('span', { class: 'entry-main' }, h('b', null, what), path && ` ${path}`),
    h('span', { class: 'entry-by' }, `${frame.by} · ${frame.size} bytes · ${clockOf(frame.at)}`)
  )
  const element = h('li', null, button)
  button.addEventListener('click', () => {
    const open = button.getAttribute('aria-expanded') === 'true'
    button.setAttribute('aria-expanded', String(!open))
    if (open) element.querySelector('.detail')?.remove()
    else element.append(detail(frame))
  })
  return element
}

function detail(frame: Frame): HTMLElement {
  const { status, took } = frame
  return h(
    'div',
    { class: 'detail' },
    status !== undefined && h('p', { class: 'at' }, `answered ${status} after ${took} ms`),
    h('pre', { class: 'source' }, JSON.stringify(hideToken(frame.message), null, 2))
  )
}

// A token is long and tells nothing here.
function hideToken(message: any): any {
  if (!message.d?.b?.cred) return message
  return { ...message, d: { ...message.d, b: { ...message.d.b, cred: '…' } } }
}
