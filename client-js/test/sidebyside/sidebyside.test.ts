import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Server } from '../support/server.js'
import { check, exemptions, libraries, share } from './run.js'
import type { Library } from './world.js'

// SIDEBYSIDE=10000 runs more histories, SIDEBYSIDE_FIRST starts at another seed.
const count = Number(process.env.SIDEBYSIDE ?? 300)
const first = Number(process.env.SIDEBYSIDE_FIRST ?? 1)

let server: Server
let libs: Library[]

beforeAll(async () => {
  server = await new Server(['--rules', join(import.meta.dirname, 'rules.json')]).start()
  libs = await libraries()
}, 120_000)

afterAll(() => server?.stop())

test(`${count} random histories look the same through both clients`, {
  timeout: count * 2000 + 60_000
}, async () => {
  for (let seed = first; seed < first + count; seed++) expect(await check(libs, server, seed)).toBeUndefined()
  const cut = [...exemptions.values()].reduce((a, b) => a + b, 0)
  const part = `${cut} of them in part, ${Math.round(share() * 100)} % of all steps`
  console.log(`compared ${count} histories, ${part}:`, Object.fromEntries(exemptions))
  expect(share()).toBeGreaterThan(0.75)
})
