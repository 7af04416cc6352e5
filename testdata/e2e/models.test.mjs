// The data models in ../models, played with the JavaScript client: every
// operation of their clients, who may do what, what comes of it, what others
// hear of it, and that the invariants of the model hold after each write.

import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { suite, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import {
  child, connectDatabaseEmulator, endAt, equalTo, get, limitToFirst, limitToLast, onChildAdded, onChildChanged,
  onChildRemoved, onValue, orderByChild, orderByKey, orderByValue, query, ref, remove, runTransaction, set, startAt,
  update
} from 'firebase/database'
import { fence, keys, Log, within } from './events.mjs'
import { durableServer, scene, sharedServer } from './harness.mjs'
import { broken, damaged, invariantsOf, updated, without, written } from './models-reference.mjs'

const names = ['chat', 'org', 'msgy', 'social', 'owner-storage', 'im']

const read = (name, part) => readFileSync(new URL(`../models/${name}/${part}.json`, import.meta.url), 'utf8')

// In its second form a model has a data document, and clients write one side. Those that know
// nothing of it go on to write both.
const forms = name => [
  { form: 'fan-out', writes: {}, accepted: {} },
  ...(existsSync(new URL(`../models/${name}/declared.json`, import.meta.url)) ? [
    { form: 'declared', document: true, ...JSON.parse(read(name, 'declared')) },
    { form: 'declared, all copies written', document: true, ...JSON.parse(read(name, 'declared')), writes: {} }
  ] : [])
]
const long = process.env.DOGWOOD_TIER === 'long'

// Below tier long a model is played in one of its forms, every second one with restarts of the server.
// The forms take turns.
const played = turn =>
  names.flatMap((name, m) => forms(name).flatMap((form, f, { length }) =>
    (long || (m % 2 === turn && (m + turn) % length === f) ? [[name, form]] : [])))

suite('data models', () => {
  const server = sharedServer()
  for (const [name, form] of played(0)) {
    test(`${name}, ${form.form}`, async t => {
      const model = await Model.open(t, server, name, form)
      for (const step of model.steps) await model.subtest(t, step)
    })
  }
})

// What is committed outlives the process; clients connect again by themselves and go
// on. It ends in order, or as a power cut would. MODELS_SEED=… repeats a run,
// MODELS_RESTARTS=1000 restarts before every step.
const seed = Number(process.env.MODELS_SEED ?? Date.now() % 2 ** 31)
const restarts = Number(process.env.MODELS_RESTARTS ?? 3)

suite(`data models, the server restarted on the way, MODELS_SEED=${seed}`, () => {
  for (const [name, form] of played(1)) {
    test(`${name}, ${form.form}`, async t => {
      const server = await durableServer(t)
      const model = await Model.open(t, server, name, form)
      const random = generator(seed)
      // Once at least while somebody listens, before the write that he hears of.
      const heard = model.steps.findIndex(step => step.op === 'events') - 1
      for (const [i, step] of model.steps.entries()) {
        if (i === heard || random() < restarts / model.steps.length) {
          await (random() < 0.5 ? server.kill() : server.stop())
          await server.start()
        }
        await model.play(step)
      }
    })
  }
})

/** Numbers from 0 to 1 that depend on the seed alone: mulberry32. */
function generator(seed) {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

// Of all that can be taken from a model's data, one leaf at a time, the
// invariants miss what is optional.
suite('the invariants of the data models notice damage', () => {
  for (const [name, noticed, leaves] of [['chat', 48, 48], ['org', 21, 22], ['msgy', 155, 157], ['social', 64, 80], ['owner-storage', 2, 10], ['im', 65, 80]]) {
    test(name, () => {
      const { invariants } = JSON.parse(read(name, 'ops'))
      const trees = [...damaged(JSON.parse(read(name, 'data')))]
      assert.deepEqual([trees.filter(tree => broken(invariants, tree).length > 0).length, trees.length], [noticed, leaves])
    })
  }
})

/** A model on a namespace of its own, and the clients of its actors. */
class Model {
  #t
  #server
  #scene
  #actors
  #form
  #invariants
  #clients = new Map()
  #listeners = new Map()
  #tree // what the database must hold
  #failed = false

  static async open(t, server, name, form) {
    const model = new Model()
    const ops = JSON.parse(read(name, 'ops'))
    model.#t = t
    model.#server = server
    model.#scene = scene(t, server)
    model.#actors = ops.auth
    model.#form = form
    model.#invariants = invariantsOf(ops.invariants, form.invariants)
    model.steps = ops.steps.filter(step => step.op !== 'land') // writes to another database
    model.#tree = JSON.parse(read(name, 'data'))
    if (form.document) await model.#admin('PUT', '.settings/data', read(name, 'database.data'))
    await model.#admin('PUT', '', read(name, 'data'))
    await model.#admin('PUT', '.settings/rules', read(name, form.document ? 'rules.declared' : 'rules'))
    return model
  }

  /** Plays a step as a test of its own, unless an earlier one failed. */
  subtest(t, step) {
    return t.test(step.id, async t => {
      if (this.#failed) return t.skip('an earlier step failed')
      this.#failed = true
      await this.play(step)
      this.#failed = false
    })
  }

  async play(step) {
    await this.#setClock(step.now)
    const { op, expect } = step
    if (op === 'get') return this.#get(step)
    if (op === 'getFields') return this.#getFields(step)
    if (op === 'listen') return this.#listen(step)
    if (op === 'events') return this.#events(step)
    if (op === 'check') return this.#check(expect.invariants)
    if (['set', 'push', 'delete', 'update', 'create', 'transaction'].includes(op)) return this.#write(step)
    assert.fail(`unknown operation ${op}`)
  }

  async #admin(method, path, body, query) {
    const { url } = this.#server
    const request = fetch(`${url}/${path}.json?${new URLSearchParams({ ns: this.#scene.ns, ...query })}`, {
      method, body, headers: { Authorization: 'Bearer owner' }
    })
    const response = await within(request, `answer to ${method} /${path}.json`)
    const text = await response.text()
    assert.equal(response.status, 200, text)
    return JSON.parse(text)
  }

  #setClock(now) {
    return this.#admin('PUT', '.settings/now', JSON.stringify(now))
  }

  /** A new client of an actor. */
  #connect(actor) {
    const auth = this.#actors[actor]
    assert.notEqual(auth, undefined, `actor ${actor}`)
    const db = this.#scene.client()
    if (auth?.admin) connectDatabaseEmulator(db, '127.0.0.1', this.#server.port, { mockUserToken: 'owner' })
    else if (auth) {
      const mockUserToken = { sub: auth.uid, user_id: auth.uid, ...auth.token }
      connectDatabaseEmulator(db, '127.0.0.1', this.#server.port, { mockUserToken })
    }
    return db
  }

  #client(actor) {
    if (!this.#clients.has(actor)) this.#clients.set(actor, this.#connect(actor))
    return this.#clients.get(actor)
  }

  async #get(step) {
    const { as, expect } = step
    const answer = within(get(queryOf(this.#client(as), step)), 'value')
    if (!expect.allow) return assert.rejects(answer, { message: 'Permission denied' })
    const snap = await answer
    const value = step.shallow && snap.hasChildren() ? shallow(snap.val()) : snap.val()
    assert.deepEqual(value, expect.value)
    if (expect.order) assert.deepEqual(keys(snap), expect.order)
  }

  async #getFields({ as, path, fields, expect }) {
    assert.equal(expect.allow, true)
    const db = this.#client(as)
    const got = await within(Promise.all(fields.map(field => get(ref(db, `${path}/${field}`)))), 'values')
    assert.deepEqual(Object.fromEntries(fields.map((field, i) => [field, got[i].val()])), expect.value)
  }

  // A listener has a client of its own, which hears nothing before the server
  // tells it.
  async #listen(step) {
    assert.equal(step.expect.allow, true)
    const db = this.#connect(step.as)
    const q = queryOf(db, step)
    const log = new Log()
    const note = type => snap => log.add({ type, key: snap.key, value: snap.val() })
    onChildAdded(q, note('child_added'), log.fail)
    onChildChanged(q, note('child_changed'), log.fail)
    onChildRemoved(q, ({ key }) => log.add({ type: 'child_removed', key }), log.fail)
    const first = new Promise((resolve, reject) => onValue(q, resolve, reject, { onlyOnce: true }))
    assert.deepEqual((await within(first, 'first value')).val(), step.expect.value)
    log.items.length = 0
    this.#listeners.set(step.listener, { db, log })
  }

  async #events({ listener, expect }) {
    const { db, log } = this.#listeners.get(listener)
    await assert.rejects(fence(db), { code: 'PERMISSION_DENIED' })
    const inOrder = events => events.toSorted((a, b) => (`${a.key} ${a.type}` < `${b.key} ${b.type}` ? -1 : 1))
    assert.deepEqual(inOrder(log.items.splice(0)), inOrder(expect.events))
  }

  // What this form accepts alone is taken back.
  async #write(file) {
    const step = { ...file, ...this.#form.writes[file.id] }
    const becomes = this.#form.accepted[file.id]
    if (!becomes) return this.#send(step, file)
    const before = this.#tree
    const expect = { ...step.expect, allow: true }
    await this.#send({ ...step, expect }, { ...file, op: 'update', path: '/', value: becomes })
    await this.#admin('PUT', '', JSON.stringify(before))
    this.#tree = before
  }

  // Whatever stands for the write in the file, the database becomes what that makes of it.
  async #send(step, file) {
    const { expect } = step
    const outcome = within(writers[step.op](this.#client(step.as), step), 'acknowledgement')
    if (expect.conflict) {
      assert.equal((await outcome).committed, false)
    } else if (expect.allow) {
      const result = await outcome
      if (result) assert.equal(result.committed, true)
      this.#apply(file)
    } else {
      await assert.rejects(outcome, denied)
    }
    await this.#check([])
    for (const path of step.returns ?? []) {
      const value = (await get(ref(this.#client('admin'), path))).val()
      assert.deepEqual(value, expect.value[path])
    }
  }

  #apply({ op, path, key, value = null, now }) {
    if (op === 'update') this.#tree = updated(this.#tree, path, value, now)
    else this.#tree = written(this.#tree, op === 'push' ? `${path}/${key}` : path, value, now)
  }

  // The whole database is what it must be, and exactly these invariants are broken.
  async #check(invariants) {
    const tree = await this.#admin('GET', '', undefined, { format: 'export' })
    const { apart } = this.#form // from the first form
    assert.deepEqual(without(tree, apart), without(this.#tree, apart))
    assert.deepEqual(broken(this.#invariants, tree), invariants)
  }
}

// What the client does for each kind of write.
const writers = {
  set: (db, { path, value }) => set(ref(db, path), value),
  push: (db, { path, key, value }) => set(child(ref(db, path), key), value), // push() makes a key, then does this
  delete: (db, { path }) => remove(ref(db, path)),
  update: (db, { path, value }) => update(ref(db, path), value),
  create: (db, { path, value }) => runTransaction(ref(db, path), current => (current === null ? value : undefined)),
  // The client's first guess of the current value is null, which the server corrects.
  transaction: (db, { path, assume, value }) =>
    runTransaction(ref(db, path), current => {
      if (isDeepStrictEqual(current, assume)) return value
      return current === null ? null : undefined
    })
}

// A refused transaction has no code.
function denied(error) {
  assert.match(error.message, /^(PERMISSION_DENIED: Permission denied(: .* (by the definition ".*"|is taken))?|permission_denied)$/)
  return true
}

function queryOf(db, { path, query: q = {} }) {
  const { orderBy, ...rest } = q
  const orders = { $key: orderByKey, $value: orderByValue }
  const constraints = { startAt, endAt, equalTo, limitToFirst, limitToLast }
  const list = Object.entries(rest).map(([name, value]) => constraints[name](value))
  if (orderBy) list.unshift(orders[orderBy]?.() ?? orderByChild(orderBy))
  return query(ref(db, path), ...list)
}

const shallow = value => Object.fromEntries(Object.keys(value).map(key => [key, true]))
