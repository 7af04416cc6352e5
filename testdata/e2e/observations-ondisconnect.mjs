// Observations of onDisconnect: writes are registered, then the client goes,
// one way or another.

import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { goOffline, ref } from 'firebase/database'
import { values, within } from './events.mjs'
import { register, roundTrip } from './observations-client.mjs'
import { only, shows, single } from './observations-format.mjs'
import { openRaw } from './observations-raw.mjs'

/** Plays an observation that has a `when.register`. */
export async function playOnDisconnect(t, s, when, then) {
  const { register: writes, then: end } = only(when, 'via', 'register', 'then')
  if (then.response) return refused(t, s, writes, then)
  const { after } = only(then, 'after')
  const admin = s.admin()
  const seen = values(ref(admin), snap => snap)
  const leave = await ends[end](t, s, writes)
  await roundTrip(admin)
  assert.equal(shows(seen.last, after), end === staysOpen, 'registering changes nothing')
  await leave()
  await seen.until(snaps => shows(snaps.at(-1), after), `writes of a client that is gone: ${JSON.stringify(after)}`)
  await s.holds(after)
}

const staysOpen = 'nothing; connection stays open'

// ends registers the writes, and returns how their client goes.
const ends = {
  async 'client closes the connection'(t, s, writes) {
    const db = s.client()
    await register(db, writes)
    return () => goOffline(db)
  },

  async 'process is killed'(t, s, writes) {
    const child = await childThatRegisters(t, s, writes)
    return () => child.kill('SIGKILL')
  },

  async [staysOpen](t, s, writes) {
    const db = s.client()
    await register(db, writes)
    return () => roundTrip(db)
  }
}

async function childThatRegisters(t, s, writes) {
  const file = fileURLToPath(new URL('observations-child.mjs', import.meta.url))
  const child = fork(file, [s.databaseURL, JSON.stringify(writes)], { execArgv: [] })
  t.after(() => child.kill('SIGKILL'))
  const died = once(child, 'exit').then(([code]) => {
    throw new Error(`the child ended with code ${code}`)
  })
  died.catch(() => {})
  await within(Promise.race([once(child, 'message'), died]), 'registration by a child process')
  return child
}

// refused plays a registration of which the status of the response is recorded.
async function refused(t, s, writes, then) {
  const [{ d, ...write }] = writes
  const [letters, p] = single(write)
  const raw = await openRaw(t, s)
  const { s: status } = await raw.request(letters, { p, d })
  assert.equal(status, only(then, 'response').response)
}
