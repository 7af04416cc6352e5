// What observations have a client do, and what they note of it, in terms of the
// npm client.

import assert from 'node:assert/strict'
import * as database from 'firebase/database'
import { onDisconnect, ref } from 'firebase/database'
import { fence, keys, within } from './events.mjs'
import { only, single } from './observations-format.mjs'

/** A query as observations write it: { orderByChild: 'a', limitToFirst: 2 }. */
export function queryAt(db, path, query = {}) {
  const constraints = Object.entries(query).map(([name, argument]) =>
    argument === true && name.startsWith('orderBy') ? database[name]() : database[name](argument))
  return database.query(ref(db, path), ...constraints)
}

const subscribe = {
  value: database.onValue,
  child_added: database.onChildAdded,
  child_changed: database.onChildChanged,
  child_moved: database.onChildMoved,
  child_removed: database.onChildRemoved
}

/** Listens to one event; `cancel` gets the error. */
export function listen(query, event, next, cancel) {
  return subscribe[event](query, next, cancel)
}

/** One write or read; resolves as the client does. */
export function perform(db, op, path, value) {
  const node = path.replace(/\/\.priority$/, '')
  if (node !== path) return database.setPriority(ref(db, node), value)
  if (op === 'set') return database.set(ref(db, path), value)
  if (op === 'update') return database.update(ref(db, path), value)
  if (op === 'remove') return database.remove(ref(db, path))
  if (op === 'get') return database.get(ref(db, path))
  assert.fail(`unknown operation ${op}`)
}

/** A step such as { set: '/x', value: 1 }. */
export function performStep(db, { value, ...step }) {
  const [op, path] = single(step)
  return within(perform(db, op, path, value), `answer to ${op} ${path}`)
}

/**
 * Registers writes for the end of the connection, one after the other:
 * { o: '/x', d: 1 } is a set, om an update and oc a cancel.
 */
export async function register(db, writes) {
  for (const { d, ...write } of writes) {
    const [letters, path] = single(write)
    const end = onDisconnect(ref(db, path))
    const calls = { o: () => end.set(d), om: () => end.update(d), oc: () => end.cancel() }
    await within(calls[letters](), `answer to ${letters} ${path}`)
  }
}

/** Resolves with "allow" or "deny", and with the error if there is one. */
export async function verdictOf(answer) {
  try {
    await within(answer, 'verdict')
    return { verdict: 'allow' }
  } catch (error) {
    if (!/permission denied/i.test(error.message)) throw error
    return { verdict: 'deny', error: { code: error.code, message: error.message } }
  }
}

/** Fails unless a snapshot has the recorded keys, in the recorded order if there is one. */
export function shown(snap, then) {
  only(then, 'keys', 'keysInClientOrder', 'clientKeyOrder')
  if ('keys' in then) assert.deepEqual(keys(snap).sort(), then.keys)
  const order = then.keysInClientOrder ?? then.clientKeyOrder
  if (order) assert.deepEqual(keys(snap), order)
}

/** A round trip of a client that may have no permission to write. */
export async function roundTrip(db) {
  await fence(db).catch(error => {
    if (error.code !== 'PERMISSION_DENIED') throw error
  })
}
