// Observations of functions that changes call.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { Server } from './harness.mjs'
import { performStep, roundTrip } from './observations-client.mjs'
import { only } from './observations-format.mjs'
import { FUNCTIONS, NotYet } from './observations-pending.mjs'
import { stage } from './observations-stage.mjs'

/** Plays writes under a function that wants to hear of what is created. */
export async function playTrigger(t, given, when, then) {
  const { pattern } = only(given, 'pattern')
  const { steps } = only(when, 'via', 'steps')
  const { createdEvents } = only(then, 'createdEvents')
  const calls = []
  const functions = createServer((request, response) => {
    calls.push(request.url)
    response.end()
  })
  await once(functions.listen(0, '127.0.0.1'), 'listening')
  t.after(() => functions.close())
  const address = ['--functions_emulator_host', '127.0.0.1', '--functions_emulator_port', functions.address().port]
  const server = await new Server(address.map(String)).start()
  t.after(() => server.kill())

  const s = await stage(t, server, {})
  const registration = await s.call({
    auth: 'admin',
    method: 'POST',
    path: '/.settings/functionTriggers.json',
    body: JSON.stringify({
      name: 'projects/demo/locations/_/functions/created',
      path: pattern,
      event: 'providers/google.firebase.database/eventTypes/ref.create',
      topic: 'projects/demo/topics/created'
    })
  })
  if (registration.status === 501) throw new NotYet(FUNCTIONS)
  assert.equal(registration.status, 200, await registration.text())
  const db = s.client()
  for (const step of steps) await performStep(db, step)
  await roundTrip(db)
  await server.stop() // it has made its calls, or never will
  if (calls.length === 0) throw new NotYet(FUNCTIONS)
  assert.equal(calls.length, createdEvents, calls.join('\n'))
}
