// @firebase/rules-unit-testing, unmodified, with `dogwood dev` in the place of
// the emulator: what authors of rules do with it, and what its own tests expect.

import assert from 'node:assert/strict'
import { afterEach, suite, test } from 'node:test'
import {
  assertFails, assertSucceeds, initializeTestEnvironment, withFunctionTriggersDisabled
} from '@firebase/rules-unit-testing'
import { get, onValue, push, ref, runTransaction, set, update } from 'firebase/database'
import { Log, within } from './events.mjs'
import { freshNamespace, sharedServer } from './harness.mjs'

const rules = `{
  // Relaxed JSON, as authors write it.
  "rules": {
    "public": { ".read": true },
    "users": {
      "$uid": {
        ".read": "auth != null && (auth.uid === $uid || auth.token.staff === true)",
        ".write": "auth != null && auth.uid === $uid",
        "age": { ".validate": "newData.isNumber() && newData.val() >= 0" },
      },
    },
    "verified": { ".write": "auth.token.email_verified === true && auth.token.email.matches(/@example[.]com$/)" },
  }
}`

suite('@firebase/rules-unit-testing', () => {
  const server = sharedServer()

  const variables = ['FIREBASE_DATABASE_EMULATOR_HOST', 'FIREBASE_EMULATOR_HUB', 'GCLOUD_PROJECT']
  afterEach(() => variables.forEach(name => delete process.env[name]))

  const here = () => ({ host: '127.0.0.1', port: server.port })

  /** A test environment, on a project of its own unless one is given. */
  async function environment(t, { projectId = freshNamespace(), ...config } = {}) {
    const env = await initializeTestEnvironment({ projectId, database: { ...here(), rules }, ...config })
    t.after(() => env.cleanup())
    return env
  }

  /** Writes past the rules. */
  const put = (env, path, value) => env.withSecurityRulesDisabled(context => context.database().ref(path).set(value))

  /** Reads past the rules. */
  async function look(env, path) {
    let value
    await env.withSecurityRulesDisabled(async context => {
      value = (await context.database().ref(path).get()).val()
    })
    return value
  }

  const read = (context, path) => context.database().ref(path).get()

  test('users and guests are let in by the rules only', async t => {
    const env = await environment(t)
    await put(env, '/', { public: 'hello', users: { ana: { age: 30 } } })
    const ana = env.authenticatedContext('ana')
    const bo = env.authenticatedContext('bo')
    const guest = env.unauthenticatedContext()

    assert.equal((await assertSucceeds(read(guest, 'public'))).val(), 'hello')
    assert.deepEqual((await assertSucceeds(read(ana, 'users/ana'))).val(), { age: 30 })
    for (const context of [bo, guest]) {
      const error = await assertFails(read(context, 'users/ana'))
      assert.equal(error.message, 'Permission denied')
    }
    await assertFails(read(ana, 'users'))
    await assertFails(read(ana, '/'))
    await assertFails(ana.database().ref('public').set('mine'))
    assert.equal(await look(env, 'public'), 'hello')
  })

  test('each kind of write is decided', async t => {
    const env = await environment(t)
    const ana = env.authenticatedContext('ana').database()
    const bo = env.authenticatedContext('bo').database()
    for (const [db, assertion] of [[bo, assertFails], [ana, assertSucceeds]]) {
      const user = db.ref('users/ana')
      await assertion(user.set({ age: 1 }))
      await assertion(user.update({ age: 2 }))
      await assertion(user.child('notes').push('first'))
      await assertion(user.child('age').transaction(age => (age ?? 0) + 1))
      await assertion(user.child('age').setWithPriority(4, 1))
      await assertion(user.onDisconnect().remove())
      await assertSucceeds(user.onDisconnect().cancel()) // is nothing that rules decide
      await assertion(user.child('notes').remove())
    }
    await assertFails(ana.ref('users/ana').set({ age: -1 }))
    await assertFails(ana.ref('users/ana').set({ age: 'old' }))
    await assertFails(ana.ref('users').update({ 'ana/age': 5, 'bo/age': 5 }))
    assert.deepEqual(await look(env, 'users'), { ana: { age: 4 } })
  })

  test('listeners are refused, or follow', async t => {
    const env = await environment(t)
    const log = new Log()
    const follow = name => env.authenticatedContext(name).database().ref('users/ana')
      .on('value', snap => log.add([name, snap.val()]), error => log.add([name, error.code]))
    follow('bo')
    await log.reaches(['bo', 'PERMISSION_DENIED'])
    follow('ana')
    await log.reaches(['ana', null])
    await put(env, 'users/ana/age', 7)
    await log.reaches(['ana', { age: 7 }])
    assert.equal(log.items.length, 3)
  })

  test('the functions of the modular client work on its databases', async t => {
    const env = await environment(t)
    const db = env.authenticatedContext('ana').database()
    await assertSucceeds(set(ref(db, 'users/ana/age'), 1))
    await assertSucceeds(update(ref(db), { 'users/ana/age': 2, 'users/ana/name': 'Ana' }))
    await assertSucceeds(runTransaction(ref(db, 'users/ana/age'), age => age + 1))
    await assertFails(push(ref(db, 'public'), 1).then())
    assert.deepEqual((await assertSucceeds(get(ref(db, 'users/ana')))).val(), { age: 3, name: 'Ana' })
    const seen = new Log()
    onValue(ref(db, 'users/ana/age'), snap => seen.add(snap.val()), seen.fail)
    await seen.reaches(3)
  })

  test('claims of a token reach the rules', async t => {
    const env = await environment(t)
    const may = (claims, assertion) => {
      const db = env.authenticatedContext('cy', claims).database()
      return assertion(db.ref('verified').set(1))
    }
    await may({ email: 'cy@example.com', email_verified: true }, assertSucceeds)
    await may({ email: 'cy@example.com', email_verified: false }, assertFails)
    await may({ email: 'cy@example.com.test', email_verified: true }, assertFails)
    await may({}, assertFails)
    await may(undefined, assertFails)
    await assertSucceeds(read(env.authenticatedContext('cy', { staff: true }), 'users/ana'))
    await assertFails(read(env.authenticatedContext('cy', { staff: 'true' }), 'users/ana'))
  })

  test('withSecurityRulesDisabled is for its callback only', async t => {
    const env = await environment(t)
    let kept
    await env.withSecurityRulesDisabled(async context => {
      kept = context
      await assertSucceeds(context.database().ref('secret').set({ n: 1 }))
      assert.deepEqual((await assertSucceeds(read(context, '/'))).val(), { secret: { n: 1 } })
    })
    assert.throws(() => kept.database(), /no longer valid/)
    await assertFails(read(env.authenticatedContext('ana'), 'secret'))
    const failure = new Error('of the callback')
    await assert.rejects(env.withSecurityRulesDisabled(() => Promise.reject(failure)), failure)
  })

  test('clearDatabase empties one database and keeps its rules', async t => {
    const [one, other] = [await environment(t), await environment(t)]
    for (const env of [one, other]) await put(env, 'users/ana/age', 1)
    await one.clearDatabase()
    assert.equal(await look(one, '/'), null)
    assert.deepEqual(await look(other, '/'), { users: { ana: { age: 1 } } })
    await assertFails(read(one.unauthenticatedContext(), 'users/ana'))
    await one.clearDatabase()
  })

  test('environments of two projects know nothing of each other', async t => {
    const open = await environment(t, { database: { ...here(), rules: '{"rules":{".read":true,".write":true}}' } })
    const closed = await environment(t, { database: { ...here(), rules: '{"rules":{}}' } })
    const databases = [open, closed].map(env => env.authenticatedContext('ana').database())
    await Promise.all([
      assertSucceeds(databases[0].ref('x').set(1)),
      assertFails(databases[1].ref('x').set(1)),
      assertSucceeds(databases[0].ref('y').get()),
      assertFails(databases[1].ref('y').get())
    ])
    assert.equal(await look(closed, 'x'), null)
  })

  test('environments of one project share its data, and the rules loaded last', async t => {
    const first = await environment(t)
    await put(first, 'secret', 1)
    await assertFails(read(first.unauthenticatedContext(), 'secret'))
    const { projectId } = first
    const second = await environment(t, { projectId, database: { ...here(), rules: '{"rules":{".read":true}}' } })
    const third = await environment(t, { projectId, database: here() })
    for (const env of [first, second, third]) {
      assert.equal((await assertSucceeds(read(env.unauthenticatedContext(), 'secret'))).val(), 1)
    }
    await first.cleanup()
    assert.equal(await look(second, 'secret'), 1)
  })

  test('a context reaches other databases by their address', async t => {
    const [env, other] = [await environment(t), await environment(t)]
    await put(other, 'public', 'over here')
    const db = env.unauthenticatedContext().database(`${server.url}/?ns=${other.projectId}`)
    assert.equal((await assertSucceeds(db.ref('public').get())).val(), 'over here')
  })

  test('rules that are wrong are refused with the place and the reason', async t => {
    const env = await environment(t)
    for (const [text, want] of [
      ['invalid json %{!@[', /Parse error/],
      ['{"rules":{".read":"auht != null"}}', /1:20: Unknown variable 'auht'\./],
      ['{"rules":{".read":"auth.uid.foo()"}}', /1:\d+: /],
      ['{}', /Expected 'rules' property/]
    ]) {
      const loading = environment(t, { projectId: env.projectId, database: { ...here(), rules: text } })
      await assert.rejects(loading, want, text)
    }
    await assertSucceeds(read(env.unauthenticatedContext(), 'public'))
    await assertFails(read(env.unauthenticatedContext(), 'users/ana'))
  })

  test('the server is found through the hub and through the environment', async t => {
    const address = `127.0.0.1:${server.port}`
    const ways = {
      'a hub that is given': () => environment(t, { hub: here(), database: { rules } }),
      'a hub in the environment': () => {
        process.env.FIREBASE_EMULATOR_HUB = address
        return environment(t, { database: { rules } })
      },
      'a database in the environment': () => {
        process.env.FIREBASE_DATABASE_EMULATOR_HOST = address
        return environment(t, { database: { rules } })
      },
      'a project in the environment': () => {
        process.env.GCLOUD_PROJECT = freshNamespace()
        return environment(t, { projectId: process.env.GCLOUD_PROJECT })
      }
    }
    for (const [way, open] of Object.entries(ways)) {
      const env = await open()
      variables.forEach(name => delete process.env[name])
      assert.deepEqual(env.emulators.database, here(), way)
      await assertSucceeds(read(env.unauthenticatedContext(), 'public'))
      await assertFails(read(env.unauthenticatedContext(), 'users/ana'))
    }
    await assert.rejects(environment(t, { database: { rules } }), /host and port of the database emulator must be specified/)
    await assert.rejects(environment(t, { hub: here(), firestore: { rules: '' } }).then(env => env.clearFirestore()),
      /firestore emulator is not running/)
  })

  test('an environment that is cleaned up is of no use any more', async t => {
    const env = await environment(t)
    const context = env.authenticatedContext('ana')
    const db = context.database()
    await assertSucceeds(db.ref('users/ana/age').set(1))
    await db.ref('users/ana').onDisconnect().remove()
    const watching = await environment(t, { projectId: env.projectId, database: here() })
    const seen = new Log()
    watching.authenticatedContext('ana').database().ref('users/ana').on('value', snap => seen.add(snap.val()), seen.fail)
    await seen.reaches({ age: 1 })
    await env.cleanup()
    await seen.reaches(null, 'the onDisconnect of a client that left')
    assert.throws(() => env.authenticatedContext('ana'), /already been cleaned up/)
    assert.throws(() => context.database(), /no longer valid/)
    await assert.rejects(async () => env.clearDatabase(), /already been cleaned up/)
  })

  test('assertions tell a refusal from a success and from other failures', async t => {
    const env = await environment(t)
    const guest = env.unauthenticatedContext()
    await assert.rejects(assertFails(read(guest, 'public')), /Expected request to fail, but it succeeded/)
    await assert.rejects(assertSucceeds(read(guest, 'users/ana')), { message: 'Permission denied' })
    const unindexed = guest.database().ref('public').orderByChild('n').limitToFirst(1).get()
    await assert.rejects(assertFails(unindexed), /unexpected error: .*Index not defined/)
  })

  test('function triggers are switched off around a callback', async () => {
    const result = within(withFunctionTriggersDisabled(here(), () => 1234), 'end of the callback')
    assert.equal(await result, 1234)
    await assert.rejects(withFunctionTriggersDisabled(here(), () => Promise.reject(new Error('mine'))), /mine/)
  })
})
