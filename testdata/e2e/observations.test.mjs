// What was recorded of the hosted service, played against this server: one test
// for each observation in ../vectors/prod-observations.json, named as there.
// The file drives the players: they know operations and findings, not cases.
// An observation that the server cannot take part in yet is a todo of the
// report, and observations-pending.mjs must list it.

import { readFileSync } from 'node:fs'
import { after, suite, test } from 'node:test'
import { sharedServer } from './harness.mjs'
import { NotYet, Roll } from './observations-pending.mjs'
import { playRest } from './observations-rest.mjs'
import { playSDK } from './observations-sdk.mjs'
import { playGet, playListen, playSocket } from './observations-socket.mjs'

const file = new URL('../vectors/prod-observations.json', import.meta.url)
const observations = JSON.parse(readFileSync(file, 'utf8'))

const players = {
  rest: playRest,
  socket: playSocket,
  'socket-get': playGet,
  'socket-listen': playListen,
  'sdk-js': playSDK,
  mixed: playSDK
}

suite('observations', () => {
  const server = sharedServer()
  const roll = new Roll()
  after(() => console.log(String(roll)))

  for (const observation of observations) {
    test(observation.name, async t => {
      try {
        await players[observation.when.via](t, server, observation)
        roll.add(observation, 'played')
      } catch (error) {
        if (!(error instanceof NotYet)) {
          roll.add(observation, 'failed')
          throw error
        }
        roll.add(observation, 'waiting', error.reason)
        t.todo(error.reason)
      }
    })
  }

  test('observations-pending.mjs lists exactly what was not played', () => roll.check())
})
