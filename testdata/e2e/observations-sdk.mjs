// Observations that were made with the JavaScript SDK.

import assert from 'node:assert/strict'
import { get, ref, runTransaction } from 'firebase/database'
import { Log, keys, within } from './events.mjs'
import { listen, perform, queryAt, roundTrip, shown } from './observations-client.mjs'
import { only, single } from './observations-format.mjs'
import { playScript } from './observations-script.mjs'
import { stage } from './observations-stage.mjs'

/** Plays an observation whose `when.via` is "sdk-js". */
export async function playSDK(t, server, { given, when, then }) {
  if (when.listen) {
    // The recordings do not say who wrote. Both must see the same.
    await events(await stage(t, server, given), when, then, true)
    return events(await stage(t, server, given), when, then, false)
  }
  const s = await stage(t, server, given)
  if (when.steps) return playScript(t, s, given, when, then)
  if (when.parallel) return transactions(s, when, then)
  if (when.op === 'runTransaction') return refusedTransaction(s, when, then)
  if (when.op === 'listen') return refusedListener(s, when, then)
  if (then.throws) return thrown(s, when, then)
  return read(s, when, then)
}

// events plays writes, one at a time, and compares the events of a listener.
async function events(s, when, then, byListener) {
  const { path, event, query } = only(only(when, 'via', 'listen', 'writes').listen, 'path', 'event', 'query')
  const db = s.client()
  const writer = byListener ? db : s.client()
  const log = new Log()
  for (const name of [event].flat()) {
    const note = noteOf(event, name, query)
    listen(queryAt(db, path, query), name, (snap, previous) => log.add(note(snap, previous)), log.fail)
  }
  await roundTrip(db)
  for (const write of when.writes) {
    const [path, value] = single(write)
    await within(perform(writer, 'set', path, value), `answer to a write at ${path}`)
    await roundTrip(db)
  }
  assert.deepEqual(log.items, only(then, 'events').events, byListener ? 'its own writes' : "another client's writes")
}

// noteOf returns what an observation notes of an event: of several kinds the
// kind and the key, of a window its keys, else what matters for the kind.
function noteOf(events, name, query) {
  if (Array.isArray(events)) return snap => [name, snap.key]
  if (name === 'value') return query ? keys : snap => snap.val()
  if (name === 'child_added') return snap => snap.key
  if (name === 'child_moved') return (snap, previous) => [snap.key, previous]
  return snap => [snap.key, snap.val()]
}

// refusedListener plays a listener that the rules do not allow.
async function refusedListener(s, when, then) {
  const { path, event } = only(when, 'via', 'op', 'event', 'path')
  const { cancel, synchronous, times } = only(then, 'cancel', 'synchronous', 'times')
  const db = s.client()
  const cancels = new Log()
  listen(ref(db, path), event, () => assert.fail('an event'), ({ code, message }) => cancels.add({ code, message }))
  assert.equal(cancels.items.length > 0, synchronous)
  await cancels.count(times)
  await roundTrip(db)
  assert.deepEqual(cancels.items, Array(times).fill(cancel))
}

async function refusedTransaction(s, when, then) {
  const { path, fn } = only(when, 'via', 'op', 'path', 'fn')
  const { rejects, fnCalls } = only(then, 'rejects', 'fnCalls')
  const result = JSON.parse(/^current => (\w+)$/.exec(fn)[1])
  let calls = 0
  const attempt = runTransaction(ref(s.client(), path), () => {
    calls++
    return result
  })
  await assert.rejects(within(attempt, 'refusal'), ({ code = null, message }) => {
    assert.deepEqual({ message, code }, rejects)
    return true
  })
  assert.equal(calls, fnCalls)
}

// transactions runs each "runTransaction /n +1" by a client of its own. Their
// first attempts arrive together, so that all but one have to try again.
async function transactions(s, when, then) {
  const { parallel } = only(when, 'via', 'parallel')
  const { committed, after, fnCallsTotalAtLeast } = only(then, 'committed', 'after', 'fnCallsTotalAtLeast')
  let calls = 0
  const clients = await Promise.all(parallel.map(() => s.proxied()))
  await Promise.all(clients.map(({ db }) => roundTrip(db)))
  for (const { proxy } of clients) proxy.hold()
  const running = parallel.map((sentence, i) => {
    const [, path, sum] = /^runTransaction (\S+) \+(\d+)$/.exec(sentence)
    return runTransaction(ref(clients[i].db, path), n => {
      calls++
      return n + Number(sum)
    })
  })
  await Promise.all(clients.map(({ proxy }) => proxy.messages.find(m => 'h' in (m.body.b ?? {}) && m.body.a === 'p')))
  for (const { proxy } of clients) proxy.release()
  const results = await within(Promise.all(running), 'end of all transactions')
  assert.deepEqual(results.map(r => r.committed), committed)
  assert.ok(calls >= fnCallsTotalAtLeast, `${calls} calls`)
  await s.holds(after)
}

// thrown plays a call that the client itself refuses.
async function thrown(s, when, then) {
  const { op, path, value } = only(when, 'via', 'op', 'path', 'value')
  const { throws, requestsSent } = only(then, 'throws', 'requestsSent')
  const { proxy, db } = await s.proxied()
  assert.throws(() => perform(db, op, path, value), { message: throws })
  await roundTrip(db)
  const sent = proxy.messages.items.filter(m => m.from === 'client' && m.body.b?.p === path)
  assert.equal(sent.length, requestsSent)
}

async function read(s, when, then) {
  const { op, path, query } = only(when, 'via', 'op', 'path', 'query')
  assert.equal(op, 'get')
  shown(await within(get(queryAt(s.client(), path, query)), 'answer to a get'), then)
}
