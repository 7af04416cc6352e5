// The operations of the data models, through each way into the real server, which is
// ended and started again before some of the steps: in order, or as a power cut would.
// MODELS_SEED=… repeats a run, MODELS_RESTARTS=1000 restarts before every step.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freshNamespace, Server } from '../support/server.js'
import { type Door, doors } from './doors.js'
import { type Form, forms, names, type Ops, parsed, root, type Step, tokenOf } from './steps.js'

// The data model and the invariants a second time, without any of this.
const { broken, invariantsOf, updated, without, written } = await import(
  join(root, 'testdata/e2e/models-reference.mjs')
)

const seed = Number(process.env.MODELS_SEED ?? Date.now() % 2 ** 31)
const long = process.env.DOGWOOD_TIER === 'long'
const restarts = Number(process.env.MODELS_RESTARTS ?? (long ? 4 : 1))

const folder = mkdtempSync(join(tmpdir(), 'client-js-models-'))
let server: Server

beforeAll(async () => {
  server = await new Server(['--data', folder]).start()
}, 120_000)
afterAll(async () => {
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
})

// Below tier long each model is played in one form and through one door. Forms and doors take
// turns, so that each form goes through each door. Tests in Go play all of them over plain HTTP in
// every tier.
const played = Object.entries(doors).filter(([door]) => long || door !== 'http')
const plays = names.flatMap((name, m) =>
  forms(name).flatMap((form, f, { length }) => (long || m % length === f ? [{ name, form, turn: m }] : []))
)

for (const [d, [door, opens]] of played.entries()) {
  describe(`${door}, MODELS_SEED=${seed}`, () => {
    for (const { name, form, turn } of plays) {
      if (!long && turn % played.length !== d) continue
      test(`${name}, ${form.name}`, async () => {
        const play = new Play(name, form, opens)
        try {
          await play.all()
        } finally {
          play.close()
        }
      })
    }
  })
}

/** A model in a namespace of its own, and its actors. */
class Play {
  private readonly ns = freshNamespace()
  private readonly ops: Ops
  private readonly actors = new Map<string, Door>()
  private readonly listeners = new Map<string, Awaited<ReturnType<Door['listen']>>>()
  private tree: unknown // what the database must hold

  constructor(
    name: string,
    private readonly form: Form,
    private readonly opens: (databaseURL: string, token?: string) => Door
  ) {
    this.ops = parsed(name, 'ops')
    this.tree = parsed(name, 'data')
  }

  async all() {
    const { document, rules } = this.form
    if (document) await server.rest(this.ns, 'PUT', '/.settings/data', document)
    await server.rest(this.ns, 'PUT', '/', this.tree)
    await server.rest(this.ns, 'PUT', '/.settings/rules', rules)
    const steps = this.ops.steps.filter(({ op }) => op !== 'land') // which writes to another database
    const random = generator(seed)
    for (const [i, step] of steps.entries()) {
      if (random() < restarts / steps.length) {
        await server.stop(random() < 0.5 ? 'SIGKILL' : 'SIGTERM')
        await server.start()
      }
      await server.rest(this.ns, 'PUT', '/.settings/now', step.now)
      await this.step(step).catch(error => {
        throw new Error(`step ${i}, ${step.id}: ${error.message}`, { cause: error })
      })
    }
  }

  close() {
    for (const door of this.actors.values()) door.close()
  }

  private actor(name: string): Door {
    let door = this.actors.get(name)
    if (!door) {
      expect(this.ops.auth).toHaveProperty(name)
      door = this.opens(server.url(this.ns), tokenOf(this.ops.auth[name]!))
      this.actors.set(name, door)
    }
    return door
  }

  private async step(step: Step) {
    const { as, op, path, fields, expect: wanted } = step
    if (op === 'check') return this.check(wanted.invariants!)
    if (op === 'events') {
      const events = await this.listeners.get(step.listener!)!.events(wanted.events!.length)
      return expect(sorted(events)).toEqual(sorted(wanted.events!))
    }
    if (op === 'getFields') {
      const gets = fields!.map(field => this.actor(as).get({ path: `${path}/${field}` }))
      const values = (await Promise.all(gets)).map(({ value }, i) => [fields![i], value])
      return expect(Object.fromEntries(values)).toEqual(wanted.value)
    }
    if (op === 'get') {
      const answer = this.actor(as).get(step)
      if (!wanted.allow) return expect(answer).rejects.toThrow(refused)
      const { value, order } = await answer
      expect(value).toEqual(wanted.value)
      if (wanted.order && order) expect(order).toEqual(wanted.order)
      return
    }
    if (op === 'listen') {
      const listener = await this.actor(as).listen(step)
      this.listeners.set(step.listener!, listener)
      return expect(listener.value).toEqual(wanted.value)
    }
    return this.write(step)
  }

  // The database becomes what the write in the file makes of it, whichever stands for it. What
  // this form accepts alone is taken back.
  private async write(file: Step) {
    const step = { ...file, ...this.form.writes[file.id] }
    const becomes = this.form.accepted[file.id]
    if (!becomes) return this.send(step, file)
    const before = this.tree
    const expect = { ...step.expect, allow: true }
    await this.send({ ...step, expect }, { ...file, op: 'update', path: '/', value: becomes })
    await server.rest(this.ns, 'PUT', '/', before)
    this.tree = before
  }

  private async send(step: Step, { op, path, key, value = null, now }: Step) {
    const { expect: wanted } = step
    const outcome = this.actor(step.as).write(step)
    if (wanted.conflict) expect(await outcome).toBe(false)
    else if (this.form.taken.includes(step.id)) await expect(outcome).rejects.toThrow('is taken')
    else if (!wanted.allow) await expect(outcome).rejects.toThrow(refused)
    else {
      expect(await outcome).toBe(true)
      this.tree =
        op === 'update'
          ? updated(this.tree, path, value, now)
          : written(this.tree, op === 'push' ? `${path}/${key}` : path, value, now)
    }
    await this.check([])
    for (const place of step.returns ?? []) {
      expect((await this.actor('admin').get({ path: place })).value).toEqual(wanted.value[place])
    }
  }

  // The whole database is what it must be, and exactly these invariants are broken.
  private async check(invariants: string[]) {
    const tree = await server.rest(this.ns, 'GET', '/')
    const { apart, invariants: own } = this.form
    expect(without(tree, apart)).toEqual(without(this.tree, apart))
    expect(broken(invariantsOf(this.ops.invariants, own), tree)).toEqual(invariants)
  }
}

const refused = /^(PERMISSION_DENIED|CONFLICT|permission_denied|Permission denied)/i

// The order of what one write changes does not matter.
const sorted = <T extends { key: string; type: string }>(events: T[]) =>
  [...events].sort((a, b) => (`${a.key} ${a.type}` < `${b.key} ${b.type}` ? -1 : 1))

/** Numbers from 0 to 1 that depend on the seed alone: mulberry32. */
function generator(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}
