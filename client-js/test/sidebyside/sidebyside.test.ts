import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Server } from '../support/server.js'
import { check, exemptions, LIMIT, libraries, share } from './run.js'
import { tally, wanted } from './tally.js'
import type { Library } from './world.js'

// `npm run test:sidebyside` runs 10,000. SIDEBYSIDE_FIRST starts at another seed.
const count = Number(process.env.SIDEBYSIDE ?? (process.env.DOGWOOD_TIER === 'long' ? 25 : 12))
const first = Number(process.env.SIDEBYSIDE_FIRST ?? 1)
const MOST = 5 // differences that are shown
const RENEWED = 2000 // histories with one server, which makes 10,000 databases and no more

let server: Server
let libs: Library[]

const start = () => new Server(['--rules', join(import.meta.dirname, 'rules.json')]).start()

beforeAll(async () => {
  server = await start()
  libs = await libraries()
}, 120_000)

afterAll(() => server?.stop())

test(`${count} random histories look the same through both clients`, {
  timeout: count * 2000 + MOST * LIMIT + 60_000
}, async () => {
  const differences: string[] = []
  for (let seed = first; seed < first + count && differences.length < MOST; seed++) {
    if (seed > first && (seed - first) % RENEWED === 0) {
      await server.stop()
      server = await start()
    }
    const difference = await check(libs, server, seed)
    if (difference) differences.push(difference)
    if ((seed - first) % 500 === 499)
      process.stderr.write(`compared ${seed - first + 1} of ${count}: ${differences.length} differ\n`)
  }
  const cut = [...exemptions.values()].reduce((a, b) => a + b, 0)
  const part = `${cut} of them in part, ${Math.round(share() * 100)} % of all steps`
  console.log(`compared ${count} histories, ${part}:`, Object.fromEntries(exemptions))
  console.log('they came across', tally())
  expect(differences.join('\n\n')).toBe('')
  if (count < 150) return
  expect(share()).toBeGreaterThan(0.9)
  expect(wanted.filter(kind => !tally()[kind])).toEqual([])
})
