// Observations about databases: several on one server, and one that does not
// exist.

import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import { onLog } from 'firebase/app'
import { get, ref } from 'firebase/database'
import { Log } from './events.mjs'
import { perform, verdictOf } from './observations-client.mjs'
import { only } from './observations-format.mjs'
import { openRaw } from './observations-raw.mjs'
import { serve } from './observations-serve.mjs'
import { stage } from './observations-stage.mjs'

/** Plays one write against several databases with rules of their own. */
export async function playInstances(t, server, given, when, then) {
  const { instances, auth } = only(given, 'instances', 'auth')
  const { op, path, value } = only(when, 'via', 'op', 'path', 'value')
  const got = {}
  for (const [name, { rules }] of Object.entries(instances)) {
    const s = await stage(t, server, { rules, auth })
    got[name] = (await verdictOf(perform(s.client(), op, path, value))).verdict
  }
  assert.deepEqual(got, then)
}

/**
 * Plays clients of a database that does not exist. That is for `dogwood serve`
 * to show: `dogwood dev` creates what it is asked for.
 */
export async function playUnknown(t, given, when, then) {
  assert.equal(only(given, 'namespaceExists').namespaceExists, false)
  assert.equal(only(when, 'via', 'op').op, 'connect')
  const { control, jsGet } = only(then, 'control', 'jsGet')
  const s = await stage(t, await serve(t), {})
  const raw = await openRaw(t, s)
  assert.deepEqual(await raw.control(control.t), control)

  assert.equal(jsGet, 'stays pending')
  const warnings = new Log()
  onLog(({ message }) => warnings.add(message), { level: 'warn' })
  t.after(() => onLog(null))
  let settled = false
  const settle = () => {
    settled = true
  }
  get(ref(s.client(), 'x')).then(settle, settle)
  // The client warns and gives up in the same turn.
  await warnings.find(message => message.includes(control.d), 'warning of the client')
  await setImmediate()
  assert.ok(!settled, 'the get is over')
}
