// The client of admin-credentials.test.mjs.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { Agent } from 'node:https'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { connect } from 'node:tls'
import { deleteApp as deleteAdmin, cert, initializeApp as initializeAdmin } from 'firebase-admin/app'
import { getAuth } from 'firebase-admin/auth'
import { getDatabase, ServerValue } from 'firebase-admin/database'
import { Log, within } from './events.mjs'

const url = process.env.DOGWOOD_TEST_URL
const keyFile = name => join(process.env.DOGWOOD_TEST_KEYS, `${name}.json`)
let apps = 0

/**
 * Google's library for Node asks one address for access tokens, whatever
 * token_uri says. This agent, which cert() takes for that, leads to the
 * token_uri of the key file.
 */
function agentFor(file) {
  const { hostname, port } = new URL(JSON.parse(readFileSync(file, 'utf8')).token_uri)
  const agent = new Agent()
  agent.createConnection = () => connect({ host: hostname, port: port || 443, servername: hostname })
  return agent
}

/** A database as a service account sees it. */
function admin(t, { account = 'backend', ns = 'test', ...options } = {}) {
  const file = keyFile(account)
  const app = initializeAdmin({
    credential: cert(file, agentFor(file)), databaseURL: `${url}?ns=${ns}`, ...options
  }, `app-${++apps}`)
  t.after(() => deleteAdmin(app))
  return { app, db: getDatabase(app) }
}

const acknowledged = promise => within(promise, 'acknowledgement')

suite('firebase-admin with a service account', () => {
  test('set, get, once, update, push, remove', async t => {
    const { db } = admin(t)
    await acknowledged(db.ref('x').set({ a: 1, b: [1, 2] }))
    await db.ref('x').update({ 'b/1': null, c: 'ü' })
    const item = await db.ref('x/list').push('pushed')
    await db.ref('x/a').remove()
    assert.deepEqual((await db.ref('x').get()).val(), { b: [1], c: 'ü', list: { [item.key]: 'pushed' } })
    assert.equal((await db.ref('x/c').once('value')).val(), 'ü')
  })

  test('events, transactions, server values', async t => {
    const { db } = admin(t)
    const log = new Log()
    db.ref('n').on('value', snap => log.add(snap.val()))
    await log.reaches(null)
    await db.ref('n').set(1)
    await log.reaches(1)
    const { committed } = await acknowledged(db.ref('n').transaction(n => (n ?? 0) + 1))
    assert.ok(committed)
    await log.reaches(2)
    await db.ref('n').set(ServerValue.increment(3))
    await log.reaches(5)
    db.ref('n').off()
  })

  test('rules', async t => {
    const { db } = admin(t)
    const source = '{\n  // what is hers\n  "rules": {"users": {"$uid": {".read": "auth.uid === $uid", ".write": "auth.uid === $uid"}}}\n}'
    await db.setRules(source)
    assert.equal(await db.getRules(), source)
    assert.deepEqual(Object.keys(await db.getRulesJSON()), ['rules'])
    await assert.rejects(db.setRules('{"rules": {".read": "tru"}}'), /tru/)
  })

  test('databaseAuthVariableOverride', async t => {
    const { db: root } = admin(t)
    await root.setRules({ rules: { users: { $uid: { '.read': 'auth.uid === $uid', '.write': 'auth.uid === $uid' } } } })
    const { db: ana } = admin(t, { databaseAuthVariableOverride: { uid: 'ana' } })
    await acknowledged(ana.ref('users/ana').set(1))
    await assert.rejects(acknowledged(ana.ref('users/bo').set(1)), /PERMISSION_DENIED/)
    const { db: nobody } = admin(t, { databaseAuthVariableOverride: null })
    await assert.rejects(acknowledged(nobody.ref('users/ana').set(2)), /PERMISSION_DENIED/)
    assert.equal((await root.ref('users/ana').get()).val(), 1)
  })

  test('an account of one database', async t => {
    const { db: shop } = admin(t, { account: 'shop', ns: 'shop' })
    await acknowledged(shop.ref('x').set(1))
    const { db: other } = admin(t, { account: 'shop', ns: 'test' })
    await assert.rejects(other.getRules(), /Unauthorized request/)
  })

  test('an account that was revoked', async t => {
    const { app, db } = admin(t, { account: 'gone' })
    await assert.rejects(app.options.credential.getAccessToken(), /invalid_grant/)
    await assert.rejects(db.getRules())
  })

  test('custom tokens', async t => {
    const { app, db } = admin(t)
    await db.setRules({ rules: { users: { $uid: { '.write': "auth.uid === $uid && auth.token.role === 'editor'" } } } })
    const token = await getAuth(app).createCustomToken('ana', { role: 'editor' })
    const write = async (path, auth) => {
      const response = await fetch(`${url}/${path}.json?${new URLSearchParams({ ns: 'test', auth })}`, { method: 'PUT', body: '1' })
      return response.status
    }
    assert.equal(await write('users/ana', token), 200)
    assert.equal(await write('users/bo', token), 401)
    assert.equal(await write('users/ana', await getAuth(app).createCustomToken('ana')), 401)
  })
})
