// The page of the browser test: a small chat, with presence and persistence.

import {
  type DataSnapshot,
  getDatabase,
  goOffline,
  increment,
  limitToLast,
  onChildAdded,
  onConnectionState,
  onDisconnect,
  onValue,
  push,
  query,
  ref,
  set,
  update
} from '@dogwood/client'
import { enablePersistence } from '@dogwood/client/persistence'

const options = new URLSearchParams(location.search)
const name = options.get('name')!
const db = getDatabase(options.get('db')!)
if (options.has('offline')) goOffline(db)
const persistence = await enablePersistence(db)

const element = (id: string) => document.getElementById(id)!

onConnectionState(db, state => {
  element('banner').hidden = state === 'connected' || state === 'connecting'
})

// ---- messages

const messages = ref(db, 'messages')
const waiting = new Set<string>() // keys of those that are not sent

function item(message: DataSnapshot): HTMLLIElement {
  const { by, text } = message.val()
  const item = document.createElement('li')
  item.id = message.key!
  item.classList.toggle('mine', by === name)
  item.classList.toggle('waiting', waiting.has(item.id))
  const part = (tag: string, text: string) =>
    Object.assign(document.createElement(tag), { textContent: text })
  const colon = part('span', ': ')
  colon.className = 'read-only'
  item.append(part('b', by), colon, part('span', text))
  return item
}

onChildAdded(query(messages, limitToLast(20)), (message, previous) => {
  const made = item(message)
  if (previous) element(previous).after(made)
  else element('list').prepend(made)
  made.scrollIntoView({ block: 'nearest' })
})

// One write: the message, and the number of all messages.
async function send(text: string): Promise<void> {
  const { key } = push(messages)
  waiting.add(key!)
  await update(ref(db), { [`messages/${key}`]: { by: name, text }, count: increment(1) })
  waiting.delete(key!)
  element(key!).classList.remove('waiting')
}

element('form').addEventListener('submit', event => {
  event.preventDefault()
  const field = element('text') as HTMLInputElement
  void send(field.value)
  field.value = ''
})
onValue(ref(db, 'count'), count => {
  const n = count.val() ?? 0
  element('count').textContent = n === 1 ? '1 message' : `${n} messages`
})

// ---- presence

const me = ref(db, `online/${name}`)
onValue(ref(db, '.info/connected'), async connected => {
  if (!connected.val()) return
  await onDisconnect(me).remove()
  await set(me, true)
})
onValue(ref(db, 'online'), online => {
  const names = Object.keys(online.val() ?? {}).map(name =>
    Object.assign(document.createElement('b'), { textContent: name })
  )
  element('online').replaceChildren(...names)
})

Object.assign(window, { ready: true, flush: () => persistence.flush() })
