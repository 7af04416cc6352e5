// What is published: its size, its names.

import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { noteOf, table } from '../../scripts/parity.js'
import { noted } from '../../scripts/short-names.js'
import { needBuild } from '../support/build.js'

const root = join(import.meta.dirname, '..', '..')
const readme = readFileSync(join(root, 'README.md'), 'utf8')

beforeAll(needBuild)

/** The size of what a page gets that imports these names. */
async function size(module: string, names: string): Promise<number> {
  const { outputFiles } = await build({
    stdin: {
      contents: `import { ${names} } from '@dogwood/client${module}'\nconsole.log(${names})`,
      resolveDir: root
    },
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    write: false,
    tsconfigRaw: {}, // ours would lead to src
    logLevel: 'silent'
  })
  return gzipSync(outputFiles[0]!.contents, { level: 9 }).length / 1000
}

// A chat: rooms in an order, messages as they come, all kinds of writes, presence.
const realtime =
  'getDatabase, ref, child, query, orderByChild, limitToLast, onValue, onChildAdded, push, set, update, remove, serverTimestamp, onDisconnect'
const rest =
  'getDatabase, ref, query, orderByChild, limitToLast, get, set, push, update, remove, serverTimestamp'

// The README is not rounded in its favour.
function printed(row: string): number {
  const line = readme.split('\n').find(line => line.startsWith(`| ${row}`))
  return Number(/\| ([\d.]+) kB \|$/.exec(line!)![1])
}

test('sizes are within their limits, and as the README says', async () => {
  const sizes: [row: string, size: number, limit: number][] = [
    ['realtime', await size('', realtime), 15],
    ['the same', await size('', `${realtime}, get, startAt, runTransaction`), 16.8],
    ['`@dogwood/client/rest`', await size('/rest', rest), 5.6],
    ['`@dogwood/client/persistence`', await size('/persistence', 'enablePersistence'), 12]
  ]
  for (const [row, size, limit] of sizes) {
    expect(size, row).toBeLessThanOrEqual(limit)
    expect(printed(row), row).toBe(Math.ceil(size * 10) / 10)
  }
})

/** A folder with the package, packed and installed as the README says. */
let installed: string

beforeAll(async () => {
  installed = await mkdtemp(join(tmpdir(), 'packed-'))
  const npm = (args: string[], cwd: string) => promisify(execFile)('npm', args, { cwd })
  await npm(['pack', '--silent', '--pack-destination', installed], root)
  const [, file] = /makes (\S+\.tgz)/.exec(readme)!
  writeFileSync(join(installed, 'package.json'), '{"type": "module"}')
  await npm(['install', '--offline', '--no-audit', `./${file}`], installed)
  for (const peer of ['react', 'vue'])
    symlinkSync(join(root, 'node_modules', peer), join(installed, 'node_modules', peer))
})
afterAll(() => rm(installed, { recursive: true }))

test('the package, packed as the README says, installs and runs', async () => {
  const entries = ['', '/rest', '/wilddog', '/persistence', '/react', '/vue', '/svelte', '/models/chat']
  const program = entries.map(name => `console.log(typeof await import('@dogwood/client${name}'))`)
  writeFileSync(join(installed, 'program.js'), program.join('\n'))
  const { stdout } = await promisify(execFile)(process.execPath, ['program.js'], { cwd: installed })
  expect(stdout).toBe('object\n'.repeat(entries.length))
}, 300_000)

test('the package compiles with all declarations checked, and has its licence and sources', async () => {
  const run = (program: string, args: string[], cwd: string) => promisify(execFile)(program, args, { cwd })
  const ours = join(installed, 'node_modules/@dogwood/client')
  const models = readdirSync(join(ours, 'dist/models')).flatMap(
    name => /^(\S+)\.d\.ts$/.exec(name)?.[1] ?? []
  )
  const entries = [
    '',
    '/rest',
    '/wilddog',
    '/persistence',
    '/react',
    '/svelte',
    ...models.map(name => `/models/${name}`)
  ]
  const ways = [['esnext', 'bundler', 'es2022']] // as in Node without its types, or a worker
  // In the lower tiers packaging/npm has the newest compiler do this, which takes long with the whole DOM.
  if (process.env.DOGWOOD_TIER === 'long')
    ways.push(
      ['nodenext', 'nodenext', 'es2022', 'dom', 'dom.iterable'],
      ['esnext', 'bundler', 'es2022', 'dom', 'dom.iterable']
    )
  for (const [module, moduleResolution, ...lib] of ways) {
    // The declarations of Vue need those of a page.
    const names = lib.includes('dom') ? [...entries, '/vue'] : entries
    const imports = names.map(
      (name, i) => `import * as entry${i} from '@dogwood/client${name}'\nvoid entry${i}`
    )
    writeFileSync(join(installed, 'all.ts'), imports.join('\n'))
    const compilerOptions = {
      module,
      moduleResolution,
      lib,
      target: 'es2022',
      strict: true,
      noEmit: true,
      skipLibCheck: false,
      types: []
    }
    writeFileSync(join(installed, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['all.ts'] }))
    await run(process.execPath, [join(root, 'node_modules/typescript-native/bin/tsc')], installed).catch(
      error => {
        throw new Error(error.stdout)
      }
    )
  }
  const { license, repository, keywords } = JSON.parse(readFileSync(join(ours, 'package.json'), 'utf8'))
  expect([license, repository.directory, keywords.length > 0]).toEqual(['Apache-2.0', 'client-js', true])
  expect(readFileSync(join(ours, 'LICENSE'), 'utf8')).toContain('Apache License')
  const map = JSON.parse(readFileSync(join(ours, 'dist/index.js.map'), 'utf8'))
  expect(map.sourcesContent).toHaveLength(map.sources.length)
  for (const chunk of readdirSync(join(ours, 'dist')).filter(name => name.endsWith('.js')))
    expect(readFileSync(join(ours, 'dist', chunk), 'utf8')).toContain('//# sourceMappingURL=')
}, 600_000) // compilations with the whole DOM, on any machine

test('names that are shortened are not documented', () => {
  const short = new Set<string>(JSON.parse(readFileSync(noted, 'utf8')))
  expect(short.size).toBeGreaterThan(100)
  const declared = readFileSync(join(root, 'dist/index.d.ts'), 'utf8')
  for (const name of [
    'val',
    'forEach',
    'key',
    'ref',
    'code',
    'rule',
    'onlyOnce',
    'databaseURL',
    'committed'
  ]) {
    expect(short.has(name), name).toBe(false)
  }
  expect(declared).not.toContain('@internal')
})

test('the table of names is up to date', () => {
  const path = join(root, 'API.md')
  if (process.env.UPDATE_API) writeFileSync(path, table())
  expect(readFileSync(path, 'utf8')).toBe(table())
})

test('a name of our own says what it is for', () => {
  const [theirs, ours] = [{ kind: 'type', purpose: 'A' } as const, { kind: 'type', purpose: '' } as const]
  expect(noteOf('x', undefined, { kind: 'type', purpose: 'What is x' })).toBe('What is x')
  expect(noteOf('x', theirs, ours)).toBe('')
  expect(() => noteOf('x', undefined, ours)).toThrow('x')
  expect(() => noteOf('x', theirs, undefined)).toThrow('x')
})
