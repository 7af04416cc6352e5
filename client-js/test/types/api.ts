// Checked by the compiler only: what must be accepted, and what must not.

import {
  type DatabaseReference,
  type DataSnapshot,
  events,
  get,
  getDatabase,
  increment,
  limitToLast,
  onChildAdded,
  onValue,
  orderByChild,
  push,
  query,
  ref,
  runTransaction,
  serverTimestamp,
  set,
  update,
  values
} from '../../src/index.js'

interface Message {
  text: string
  at: number
}

interface Room {
  name: string
  messages?: Record<string, Message>
}

interface Schema {
  rooms: Record<string, Room>
  count: number
}

export async function typed() {
  const db = getDatabase<Schema>({ databaseURL: 'http://localhost:9000' })

  const room = ref(db, 'rooms/r1')
  const name: DatabaseReference<string> = ref(db, 'rooms/r1/name')
  await set(name, 'Lobby')
  // @ts-expect-error a name is a string
  await set(name, 1)
  // @ts-expect-error there is no such field
  await set(room, { title: 'Lobby' })
  // @ts-expect-error a query cannot be written to
  await set(query(name, limitToLast(1)), 'x')

  await set(ref(db, 'count'), increment(1))
  // @ts-expect-error a string cannot be counted up
  await set(name, increment(1))

  await push(ref(db, 'rooms/r1/messages'), { text: 'hi', at: serverTimestamp() })
  // @ts-expect-error a message has a time
  await push(ref(db, 'rooms/r1/messages'), { text: 'hi' })

  await update(room, { name: 'x', 'messages/m1/text': 'y' })
  // @ts-expect-error a name is a string
  await update(room, { name: 5 })

  const value: string | null = (await get(name)).val()
  // @ts-expect-error it may be null
  const certain: string = (await get(name)).val()

  onChildAdded(query(ref(db, 'rooms/r1/messages'), orderByChild('at')), snapshot => {
    const text: string | undefined = snapshot.val()?.text
    return text
  })
  for await (const snapshot of values(name)) {
    const value: string | null = snapshot.val()
    return value
  }
  for await (const { type, snapshot } of events(ref(db, 'rooms'))) {
    const room: Room | null = snapshot.val()
    return [type, room]
  }
  await runTransaction(ref(db, 'count'), n => (n ?? 0) + 1)
  return [value, certain]
}

export async function generic() {
  const db = getDatabase()
  const room = ref<Room>(db, 'rooms/r1')
  const snapshot: DataSnapshot<Room> = await get(room)
  const name: string | undefined = snapshot.val()?.name
  return name
}

export async function untyped() {
  const db = getDatabase()
  await set(ref(db, 'anything/at/all'), { a: [1, 'b'] })
  onValue(ref(db, 'x'), snapshot => snapshot.val().deep.er)
  const path: string = 'computed'
  await set(ref(db, path), 5)
}
