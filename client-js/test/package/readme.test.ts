// Every block of code in the README is run: those of the tutorial as one program,
// the others each as one. The page is run by the browser tests.

import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { needBuild } from '../support/build.js'
import { compilerErrors } from '../support/compiler.js'
import { Server } from '../support/server.js'

const root = join(import.meta.dirname, '..', '..')
const cache = join(root, 'test/.cache')

const blocks = [...readFileSync(join(root, 'README.md'), 'utf8').matchAll(/^```(.*)\n([\s\S]*?)^```/gm)].map(
  ([, kind, text]) => ({ kind: kind!, text: text! })
)
const texts = (kind: string) => blocks.filter(block => block.kind === kind).map(({ text }) => text)

let server: Server

beforeAll(async () => {
  needBuild()
  mkdirSync(cache, { recursive: true })
  server = await new Server().start()
}, 120_000)
afterAll(() => server?.stop())

/** Runs a program of its own and returns what it prints. */
async function run(name: string, program: string): Promise<string> {
  const file = join(cache, `${name}.mjs`)
  const here = program
    .replace('localhost:9000', server.host)
    .replace('https://db.example.com', server.url('readme'))
  writeFileSync(file, here)
  const { stdout } = await promisify(execFile)(process.execPath, [file], { cwd: root, timeout: 60_000 })
  return stdout
}

test('no block is left out', () => {
  const kinds = ['sh', 'js', 'text', 'diff', 'html', 'ts', ...Object.keys(alone).map(name => `js ${name}`)]
  expect(blocks.filter(({ kind }) => !kinds.includes(kind))).toEqual([])
  expect(new Set(blocks.map(({ kind }) => kind)).size).toBe(kinds.length)
})

test('the tutorial prints what it says', async () => {
  const imports: string[] = []
  const body: string[] = []
  for (const line of texts('js').join('').split('\n')) {
    ;(line.startsWith('import ') ? imports : body).push(line)
  }
  expect(await run('tutorial', [...imports, ...body].join('\n'))).toBe(texts('text').join(''))
})

// What the other blocks need before and after them, and what they print then.
const alone: Record<string, { before?: string; after: string; prints: string }> = {
  offline: {
    before: `import 'fake-indexeddb/auto'`,
    after: `
      import { get, ref, set } from '@dogwood/client'
      await set(ref(db, 'offline'), 1)
      console.log((await get(ref(db, 'offline'))).val())`,
    prints: '1\n'
  },
  'sign-in': {
    before: `
      import { getDatabase } from '@dogwood/client'
      const db = getDatabase('https://db.example.com')
      const fetchTokenFromYourServer = () => 'owner'`,
    after: `console.log('signed in')`,
    prints: 'signed in\n'
  },
  presence: {
    before: `
      import { getDatabase } from '@dogwood/client'
      const db = getDatabase('https://db.example.com')`,
    after: `
      await new Promise(resolve => onValue(ref(db, 'online/ana'), seen => seen.val() && resolve()))
      console.log('online')`,
    prints: 'online\n'
  },
  rest: { after: `console.log((await get(ref(db, 'a'))).val())`, prints: '1\n' },
  classic: {
    after: `await new Promise(resolve => ref.once('value', resolve))`,
    prints: 'null\n'
  }
}

for (const [name, { before = '', after, prints }] of Object.entries(alone)) {
  test(`the block on ${name} runs`, async () => {
    const [text] = texts(`js ${name}`)
    expect(await run(name, `${before}\n${text}\n${after}\nprocess.exit()`)).toBe(prints)
  })
}

test('the types are as the block on types says', () => {
  const file = join(cache, 'types.ts')
  const before = `
    import { type Database, getDatabase, ref, set } from '@dogwood/client'
    type Message = { text: string }
    type Room = { name: string }
    declare const anyDb: Database\n`
  const text = before + texts('ts').join('')
  writeFileSync(file, text)
  const lines = compilerErrors([file], '--types', '')
    .flatMap(error => /\((\d+),\d+\): error/.exec(error)?.[1] ?? [])
    .map(line => text.split('\n')[Number(line) - 1])
  expect(lines).toEqual(['set(name, 5) // an error'])
})
