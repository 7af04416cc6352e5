// Observations that were made over the realtime socket. The npm client plays
// them, and a raw socket what the npm client hides.

import assert from 'node:assert/strict'
import { get } from 'firebase/database'
import { values, within } from './events.mjs'
import { perform, performStep, queryAt, roundTrip, shown, verdictOf } from './observations-client.mjs'
import { only } from './observations-format.mjs'
import { playInstances, playUnknown } from './observations-instances.mjs'
import { playOnDisconnect } from './observations-ondisconnect.mjs'
import { openRaw } from './observations-raw.mjs'
import { stage } from './observations-stage.mjs'
import { playTrigger } from './observations-trigger.mjs'

/** Plays an observation whose `when.via` is "socket". */
export async function playSocket(t, server, { given, when, then }) {
  if ('namespaceExists' in given) return playUnknown(t, given, when, then)
  if ('instances' in given) return playInstances(t, server, given, when, then)
  if ('pattern' in given) return playTrigger(t, given, when, then)
  const s = await stage(t, server, given)
  if (when.request) return request(t, s, when, then)
  if (when.register) return playOnDisconnect(t, s, when, then)
  if (when.steps) return steps(s, when, then)
  if (when.parallel) return parallel(s, when, then)
  if ('value' in then) return read(s, when, then)
  return decide(s, when, then)
}

/** Plays an observation whose `when.via` is "socket-get". */
export async function playGet(t, server, { given, when, then }) {
  const s = await stage(t, server, given)
  const { path, query } = only(when, 'via', 'path', 'query')
  const answer = within(get(queryAt(s.client(), path, query)), 'answer to a get')
  if (then.error) return assert.rejects(answer, { message: only(then, 'error').error })
  shown(await answer, then)
}

/** Plays an observation whose `when.via` is "socket-listen". */
export async function playListen(t, server, { given, when, then }) {
  const s = await stage(t, server, given)
  const { path, query } = only(when, 'via', 'path', 'query')
  const { okData, warning, ...rest } = then
  const { proxy, db } = await s.proxied()
  const seen = values(queryAt(db, path, query), snap => snap)
  await seen.count(1)
  shown(seen.last, rest)
  const answer = await answerTo(proxy, 'q')
  assert.equal(answer.s, 'ok')
  if (okData) assert.deepEqual(answer.d, okData)
  if (warning !== undefined) assert.deepEqual(answer.d.w ?? null, warning)
}

// answerTo finds the response to the first request of its kind.
async function answerTo(proxy, action) {
  const { body } = await proxy.messages.find(m => m.from === 'client' && m.body.a === action, action)
  const answer = await proxy.messages.find(m => m.from === 'server' && m.body.r === body.r, `answer to ${action}`)
  return answer.body.b
}

// read plays one read that succeeds.
async function read(s, when, then) {
  const { op, path } = only(when, 'via', 'op', 'path')
  const snap = await within(perform(s.client(), op, path), 'answer to a read')
  assert.deepEqual(snap.val(), only(then, 'value').value)
  assert.equal(snap.exists(), then.value !== null)
}

// decide plays one read or write that the rules allow or deny.
async function decide(s, when, then) {
  const { op, path, value, query } = only(when, 'via', 'op', 'path', 'value', 'query')
  only(then, 'verdict', 'jsError', 'after')
  const db = s.client()
  const { verdict, error } = await verdictOf(query ? get(queryAt(db, path, query)) : perform(db, op, path, value))
  assert.equal(verdict, then.verdict)
  if (then.jsError) assert.deepEqual(error, then.jsError)
  if (then.after) await s.holds(then.after)
}

// steps plays one write or read after the other.
async function steps(s, when, then) {
  const { after, ...rest } = then
  const db = s.client()
  let answer
  for (const step of only(when, 'via', 'steps').steps) answer = await performStep(db, step)
  if (after) await s.holds(after)
  shown(answer, rest)
}

// parallel plays each step by a client of its own, all at once.
async function parallel(s, when, then) {
  const { parallel } = only(when, 'via', 'parallel')
  const clients = parallel.map(() => s.client())
  await Promise.all(clients.map(roundTrip)) // all are connected
  await Promise.all(parallel.map((step, i) => performStep(clients[i], step)))
  await s.holds(only(then, 'after').after)
}

// request sends one message as it is recorded. If the error of the npm client
// is recorded too, that has to do the same.
async function request(t, s, when, then) {
  const { a, b } = only(when, 'via', 'request').request
  only(then, 'response', 'responseNot', 'd', 'jsError')
  const raw = await openRaw(t, s)
  const response = await raw.request(a, b)
  if (then.response) assert.deepEqual(response, then.response)
  if (then.responseNot) assert.notEqual(response.s, then.responseNot)
  if ('d' in then) assert.equal(response.d, then.d)
  if (then.jsError) {
    assert.equal(a, 'p')
    const { error } = await verdictOf(perform(s.client(), 'set', b.p, b.d))
    assert.deepEqual(error, then.jsError)
  }
}
