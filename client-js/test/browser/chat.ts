// The page of the browser test: a small chat, with presence and persistence.

import {
  getDatabase,
  goOffline,
  limitToLast,
  onChildAdded,
  onConnectionState,
  onDisconnect,
  onValue,
  push,
  query,
  ref,
  set
} from '@dogwood/client'
import { enablePersistence } from '@dogwood/client/persistence'

const options = new URLSearchParams(location.search)
const name = options.get('name')!
const db = getDatabase(options.get('db')!)
if (options.has('offline')) goOffline(db)
const persistence = await enablePersistence(db)

const element = (id: string) => document.getElementById(id)!
onConnectionState(db, state => {
  element('state').textContent = state
})

const messages = ref(db, 'messages')
onChildAdded(query(messages, limitToLast(20)), (message, previous) => {
  const item = document.createElement('li')
  const { by, text } = message.val()
  item.id = message.key!
  item.textContent = `${by}: ${text}`
  if (previous) element(previous).after(item)
  else element('list').prepend(item)
})
element('form').addEventListener('submit', event => {
  event.preventDefault()
  const field = element('text') as HTMLInputElement
  void push(messages, { by: name, text: field.value })
  field.value = ''
})

const me = ref(db, `online/${name}`)
onValue(ref(db, '.info/connected'), async connected => {
  if (!connected.val()) return
  await onDisconnect(me).remove()
  await set(me, true)
})
onValue(ref(db, 'online'), online => {
  element('online').textContent = Object.keys(online.val() ?? {}).join(', ') || 'nobody'
})
Object.assign(window, { ready: true, flush: () => persistence.flush() })
