// A model at the real server, with its data and rules, and clients of its actors.

import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { type Database, deleteDatabase, getDatabase } from '../../src/index.js'
import { freshNamespace, Server } from '../support/server.js'
import { type Actor, type names, parsed, root, tokenOf } from './steps.js'

const { broken, invariantsOf } = await import(`${root}/testdata/e2e/models-reference.mjs`)

/** A server for the tests of a file, each of which gets its data from `scene`. */
export function models() {
  let server: Server
  let stop: (() => void)[] = []

  beforeAll(async () => {
    server = await new Server().start()
  }, 120_000)
  afterEach(() => {
    for (const f of stop) f()
    stop = []
  })
  afterAll(() => server?.stop())

  /** Loads a model into a namespace of its own, in its first form or on its data document. */
  return async function scene(model: (typeof names)[number], declared = false) {
    const ns = freshNamespace()
    const own = declared ? parsed(model, 'declared').invariants : []
    const invariants = invariantsOf(parsed(model, 'ops').invariants, own)
    const admin = (method: string, path: string, body?: unknown) => server.rest(ns, method, path, body)
    if (declared) await admin('PUT', '/.settings/data', parsed(model, 'database.data'))
    await admin('PUT', '/', parsed(model, 'data'))
    await admin('PUT', '/.settings/rules', parsed(model, declared ? 'rules.declared' : 'rules'))
    return {
      /** A REST call as administrator. */
      admin,
      /** A client that is signed in. */
      as<Data>(actor: Actor | string): Database<Data> {
        const token = tokenOf(typeof actor === 'string' ? { uid: actor } : actor)!
        const db = getDatabase<Data>({ databaseURL: server.url(ns), token: () => token })
        stop.push(() => deleteDatabase(db))
        return db
      },
      /** All invariants of the model hold. */
      async check() {
        expect(broken(invariants, await admin('GET', '/'))).toEqual([])
      }
    }
  }
}

/** Calls that were made, to be waited for. */
export function calls<T>() {
  const all: T[] = []
  const add = (value: T) => void all.push(structuredClone(value))
  const until = (count: number) =>
    expect.poll(() => all.length, { timeout: 60_000 }).toBeGreaterThanOrEqual(count)
  return { all, add, until }
}

/** What is thrown while `f` runs and nobody catches. */
export async function thrownBy(f: () => Promise<void>): Promise<string[]> {
  const thrown: string[] = []
  const kinds = ['uncaughtException', 'unhandledRejection'] as const
  const before = kinds.map(kind => process.listeners(kind as 'uncaughtException'))
  for (const kind of kinds) {
    process.removeAllListeners(kind)
    process.on(kind, (error: Error) => thrown.push(`${kind}: ${error.message}`))
  }
  try {
    await f()
    await new Promise(resolve => setTimeout(resolve)) // so that all that is due is thrown
  } finally {
    kinds.forEach((kind, i) => {
      process.removeAllListeners(kind)
      for (const listener of before[i]!) process.on(kind, listener)
    })
  }
  return thrown
}

export const denied = { code: 'PERMISSION_DENIED' }
