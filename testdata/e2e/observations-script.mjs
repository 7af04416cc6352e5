// Observations whose steps are told in sentences. Every sentence that occurs is
// in the table below; another one fails.

import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import { get, goOffline, goOnline, onDisconnect, ref, runTransaction, set, update } from 'firebase/database'
import { values, within } from './events.mjs'
import { listen, perform, roundTrip, verdictOf } from './observations-client.mjs'
import { only, shows, single } from './observations-format.mjs'

/** Plays an observation with `when.steps`, and then compares what was noted. */
export async function playScript(t, s, given, when, then) {
  const { steps, path } = only(when, 'via', 'steps', 'path')
  const { db, account } = s.account()
  const admin = s.admin()
  const observer = values(ref(admin), snap => snap)
  await observer.count(1)
  const play = { s, given, path, db, account, admin, observer, listeners: [], arguments: [], priorities: [] }
  for (const step of steps) {
    if (typeof step === 'string') await say(play, step)
    else await act(play, step)
  }
  for (const [name, want] of Object.entries(then)) {
    assert.ok(findings[name], `unknown finding ${name}`)
    await findings[name](play, want, then)
  }
}

const sentences = [
  [/^listen (\S+)(?: again \(cancelled\)| third time)?$/, (play, path) => listenTo(play, path, ['value'])],
  [/^listen (\S+) (\w+(?:, \w+)+)$/, (play, path, events) => listenTo(play, path, events.split(', '))],
  [/^set (\S+) (\{.*\})$/, ({ db }, path, value) => within(set(ref(db, path), loose(value)), 'answer to a set')],
  [/^runTransaction (\S+)$/, (play, path) => transaction(play, path, current => current)],
  [/^onDisconnect (\S+) set (\{.*\})$/, ({ db }, path, value) =>
    within(onDisconnect(ref(db, path)).set(loose(value)), 'answer to an onDisconnect')],
  [/^register o (\S+) (\w+) \(ok\)$/, ({ db }, path, value) =>
    within(onDisconnect(ref(db, path)).set(value), 'answer to an onDisconnect')],
  [/^admin uploads rules with (\.\w+) (true|false) at (\S+)$/, ({ s, given }, rule, value, path) =>
    s.install(withRule(given.rules, path, rule, value === 'true'))],
  [/^goOffline$|^client disconnects$/, ({ db }) => goOffline(db)],
  [/^goOnline$/, ({ db }) => goOnline(db)],
  [/^sign out$/, ({ account }) => account.signOut()],
  [/^sign in$/, ({ account }) => account.signIn()]
]

function say(play, sentence) {
  for (const [pattern, action] of sentences) {
    const match = pattern.exec(sentence)
    if (match) return action(play, ...match.slice(1))
  }
  assert.fail(`unknown step: ${sentence}`)
}

// act plays a step that is an object.
async function act(play, { path = play.path, value, verdict, status, ...step }) {
  const [who, what] = single(step)
  if (who === 'socket') {
    const answer = await verdictOf(perform(play.db, what, path, value))
    assert.equal(answer.verdict, verdict)
    play.lastVerdict = performance.now()
  } else if (who === 'admin') {
    assert.equal(status, 200)
    const [, granted] = /^PUT rules granting (\S+)$/.exec(what)
    await play.s.install(withRule(play.given.rules, granted, '.write', true))
    play.newRules = performance.now()
  } else {
    assert.ok(writes[who], `unknown step: ${who}`)
    await writes[who](play, path, what)
    play.priorities.push((await get(ref(play.db, path))).priority)
  }
}

const writes = {
  set: ({ db }, path, value) => within(set(ref(db, path), value), 'answer to a set'),
  update: ({ db }, path, value) => within(update(ref(db, path), value), 'answer to an update'),
  runTransaction(play, path, sum) {
    const [, key, n] = /^(\w+) \+ (\d+)$/.exec(sum)
    return transaction(play, path, node => node && { ...node, [key]: node[key] + Number(n) })
  }
}

// listenTo starts a listener for each kind of event and waits for its first.
async function listenTo(play, path, events) {
  for (const event of events) {
    const listener = { path, event, data: [], cancels: [] }
    play.listeners.push(listener)
    listen(ref(play.db, path), event, snap => listener.data.push(snap.val()), error => listener.cancels.push(error))
  }
  await roundTrip(play.db)
}

async function transaction(play, path, change) {
  const attempt = runTransaction(ref(play.db, path), current => {
    play.arguments.push(current)
    return change(current)
  })
  assert.ok((await within(attempt, 'end of a transaction')).committed)
}

// findings compares what was noted with what is recorded.
const findings = {
  arguments: (play, want) => assert.deepEqual(play.arguments, want),
  priorities: (play, want) => assert.deepEqual(play.priorities, want),

  async cancelPerListener(play, want) {
    await roundTrip(play.db)
    for (const { event, cancels } of play.listeners) assert.equal(cancels.length, want, event)
  },
  code(play, want) {
    for (const error of cancels(play)) assert.equal(error.code, want)
  },
  messagePrefix(play, want) {
    for (const error of cancels(play)) assert.ok(error.message.startsWith(want), error.message)
  },
  async noFurtherData(play, want) {
    assert.equal(want, true)
    const before = play.listeners.map(({ data }) => data.length)
    for (const { path } of play.listeners) await play.s.put(path, { more: Math.random() })
    await roundTrip(play.db)
    assert.deepEqual(play.listeners.map(({ data }) => data.length), before)
  },
  async 'getOf/y'(play, want) {
    assert.equal(want, 'still allowed')
    assert.equal((await verdictOf(get(ref(play.db, '/y')))).verdict, 'allow')
  },

  firstListenerDeliveries: (play, want) => assert.deepEqual(play.listeners[0].data, want),
  secondListener: (play, want) => assert.deepEqual(play.listeners[1].cancels.map(error => error.code), [want]),
  thirdListenerLast: (play, want) => assert.deepEqual(play.listeners[2].data.at(-1), want),

  // A client that returns names the session that it had before. So after a
  // round trip all that its end could bring about has happened.
  async observerSees({ db, admin, observer, given }, want) {
    goOnline(db)
    await roundTrip(db)
    await roundTrip(admin)
    const [path] = single(given.data)
    const seen = observer.items.map(snap => snap.child(path).val())
    assert.deepEqual(seen.filter((value, i) => !isDeepStrictEqual(value, seen[i - 1])), want)
  },
  async after({ s, observer }, want) {
    await observer.until(snaps => shows(snaps.at(-1), want), JSON.stringify(want))
    await s.holds(want)
  },

  withinMs(play, want) {
    const ms = play.lastVerdict - play.newRules
    assert.ok(ms > 0 && ms < want, `${ms} ms`)
  },
  recordedMs() {} // how long it took there
}

const cancels = play => play.listeners.flatMap(listener => listener.cancels)

// withRule returns a copy of a rules document in which one rule is another.
function withRule(document, path, rule, value) {
  const copy = structuredClone(document)
  let node = copy.rules
  for (const key of path.split('/').filter(Boolean)) node = node[key] ??= {}
  node[rule] = value
  return copy
}

// loose reads {s:off} as it is written in a sentence.
function loose(text) {
  const json = text.replace(/[a-z]\w*/gi, word => (/^(true|false|null)$/.test(word) ? word : `"${word}"`))
  return JSON.parse(json)
}
