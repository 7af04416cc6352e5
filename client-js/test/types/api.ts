// Checked by the compiler only: what must be accepted, and what must not.

import type { Known } from '../../src/api/types.js'
import {
  child,
  type DatabaseReference,
  type DataSnapshot,
  equalTo,
  events,
  get,
  getDatabase,
  increment,
  limitToLast,
  max,
  min,
  onChildAdded,
  onChildChanged,
  onChildRemoved,
  onDisconnect,
  onValue,
  orderByChild,
  orderByChildren,
  push,
  type QueryConstraint,
  query,
  ref,
  refresh,
  runTransaction,
  serverTimestamp,
  set,
  update,
  values
} from '../../src/index.js'
import { enablePersistence } from '../../src/persistence.js'
import * as rest from '../../src/rest.js'

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
  await set(ref(db, 'count'), max(1))
  // @ts-expect-error a text is no bound
  await set(ref(db, 'count'), min('1'))
  // @ts-expect-error a string cannot be counted up
  await set(name, increment(1))

  await push(ref(db, 'rooms/r1/messages'), { text: 'hi', at: serverTimestamp() })
  // @ts-expect-error a message has a time
  await push(ref(db, 'rooms/r1/messages'), { text: 'hi' })

  await update(room, { name: 'x', 'messages/m1/text': 'y' })
  // @ts-expect-error a name is a string
  await update(room, { name: 5 })

  // Paths that the schema does not have.
  // @ts-expect-error
  ref(db, 'roms')
  // @ts-expect-error
  ref(db, 'rooms/r1/nope')
  // @ts-expect-error
  ref(db, 'rooms/r1/name/deeper')
  // @ts-expect-error a text has a length, but no child of that name
  ref(db, 'rooms/r1/name/length')
  // @ts-expect-error
  await get(ref(db, '/rooms/r1/nmae'))
  // @ts-expect-error
  child(room, 'nmae')
  // @ts-expect-error
  ;(await get(room)).child('nmae')
  // @ts-expect-error
  await update(ref(db), { 'roms/r1/name': 'x' })
  // @ts-expect-error
  await update(ref(db), { cuont: 1 })
  // @ts-expect-error a name is a string, also there
  await update(ref(db), { 'rooms/r1/name': 5 })
  // @ts-expect-error
  await onDisconnect(room).update({ nmae: 'x' })

  // Those that it has, and those that are known only when the program runs.
  const id: string = 'r1'
  const text: DatabaseReference<string> = ref(db, `rooms/${id}/messages/m1/text`)
  const below: DatabaseReference<string> = child(child(ref(db, '/rooms/'), id), 'name')
  const at: DataSnapshot<number> = (await get(ref(db, 'rooms/r1'))).child('messages/m1/at')
  onValue(ref(db, '.info/connected'), snapshot => snapshot.val() === true)
  await update(ref(db), { [`rooms/${id}/name`]: 'x', count: increment(1) })
  await update(ref(db), { 'rooms/r1/name': null, 'rooms/r1/messages/m1/at': serverTimestamp() })
  await onDisconnect(room).update({ name: null, 'messages/m1': null })
  const chosen = ref<Message>(db, 'anywhere/at/all')
  await set(chosen, { text: 'x', at: 1 })

  const value: string | null = (await get(name)).val()
  const again: string | null = (await refresh(name, await get(name))).snapshot.val()
  // @ts-expect-error a name is no number
  await refresh(ref(db, 'count'), await get(name))
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
  return [value, again, certain, text, below, at]
}

export async function generic() {
  const db = getDatabase()
  const room = ref<Room>(db, 'rooms/r1')
  const snapshot: DataSnapshot<Room> = await get(room)
  const name: string | undefined = snapshot.val()?.name
  return name
}

// What no write accepts has a place in a schema only for what is read.
export async function unwritable() {
  const db = getDatabase<{
    when: Date
    map: Map<string, number>
    big: bigint
    note?: string
    person: { name: string; age?: number }
  }>()
  // @ts-expect-error a Date has no form as data
  await set(ref(db, 'when'), new Date())
  // @ts-expect-error nor has a Map
  await set(ref(db, 'map'), new Map())
  // @ts-expect-error nor a bigint
  await set(ref(db, 'big'), 1n)
  // @ts-expect-error undefined is not null
  await set(ref(db, 'note'), undefined)
  await set(ref(db, 'note'), null)
  await set(ref(db, 'person'), { name: 'ann' })
}

export async function untyped() {
  const db = getDatabase()
  await set(ref(db, 'anything/at/all'), { a: [1, 'b'] })
  onValue(ref(db, 'x'), snapshot => snapshot.val().deep.er)
  const path: string = 'computed'
  await set(ref(db, path), 5)
}

// The place of a call in another one says nothing of the schema.
export async function inline() {
  await get(ref(getDatabase('http://localhost:9000'), 'count'))
  onValue(ref(getDatabase('http://localhost:9000'), 'a'), snapshot => snapshot.val().deep.er)
  onValue(query(ref(getDatabase('http://localhost:9000'), 'a'), limitToLast(1)), () => {})
  await rest.get(rest.ref(rest.getDatabase('http://localhost:9000'), 'count'))
  // @ts-expect-error a schema that is given is kept
  await get(ref(getDatabase<Schema>('http://localhost:9000'), 'cuont'))
}

export async function neverNull() {
  const db = getDatabase<Schema>({ databaseURL: 'http://localhost:9000' })
  const rooms = ref(db, 'rooms')
  onChildAdded(rooms, room => room.val().name.length)
  onChildRemoved(rooms, room => room.val().name.length)
  // A callback that is made for any snapshot fits, too.
  onChildChanged(rooms, (room: DataSnapshot<Room>) => room.val()?.name)
  for await (const { snapshot } of events(rooms)) void snapshot.val().name
  ;(await get(rooms)).forEach(room => {
    room.val().name.trim()
  })
  // @ts-expect-error a whole value may be absent
  onValue(rooms, snapshot => snapshot.val().r1)
}

export function ordered() {
  const db = getDatabase<Schema>({ databaseURL: 'http://localhost:9000' })
  const rooms = ref(db, 'rooms')
  query(rooms, orderByChild('name'), limitToLast(3))
  query(rooms, orderByChild('messages/m1/at'))
  const order = orderByChild('name')
  const all: QueryConstraint[] = [order, limitToLast(3)]
  query(rooms, ...all)
  const untyped = getDatabase()
  query(ref(untyped, 'x'), orderByChild('anything'))
  const computed: string = 'name'
  query(rooms, orderByChild(computed))
  query(rooms, orderByChildren('name', 'messages/m1/at'), equalTo(['lobby']), limitToLast(3))
  // @ts-expect-error there is no such field
  query(rooms, orderByChildren('name', 'nmae'))
  // @ts-expect-error there is no such field
  query(rooms, orderByChild('nmae'))
  // @ts-expect-error nor here
  query(rooms, limitToLast(3), orderByChild('messages/m1/att'))
}

export async function persisted() {
  const db = getDatabase()
  await enablePersistence(db, {
    onRefused: ({ code, rule }, path) => console.warn(code.toLowerCase(), rule, path.toLowerCase())
  })
  // One that wants to know less, as written for earlier versions.
  await enablePersistence(db, { onRefused: (error: Error) => console.warn(error.message) })
  // @ts-expect-error there is no snapshot of what was lost
  await enablePersistence(db, { onRefused: (_, path: DataSnapshot) => path })
}

// The error says in words what is wrong.
type Refused = Known<Schema, 'roms'>
export const words: "unknown path 'roms' in the schema" = '' as Refused

// So do the functions that take a path: what they ask for is no type `never`.
type PathOf<F> = F extends { (parent: any, path: infer P): any; (parent: any, path: any): any } ? P : never
declare const snapshot: DataSnapshot<Schema>
export const asked: [
  PathOf<typeof ref<Schema, 'roms/r1'>>,
  PathOf<typeof child<Room, 'nmae'>>,
  Parameters<typeof snapshot.child<'roms'>>[0]
] = [
  "unknown path 'roms/r1' in the schema",
  "unknown path 'nmae' in the schema",
  "unknown path 'roms' in the schema"
]
