// No file imports itself in a roundabout way; the build fails on one that does.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { cyclesOf, importsIn, noImportCycles } from '../../scripts/import-cycles.js'

/** The cycles of a package with these files. */
function cycles(files: Record<string, string>): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'dogwood-cycles-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const [name, text] of Object.entries(files)) {
    const path = join(folder, name)
    mkdirSync(join(path, '..'), { recursive: true })
    writeFileSync(path, text)
  }
  return cyclesOf(importsIn(folder, ['src']))
}

test('the sources have no cycle, and the build looks', () => {
  expect(cyclesOf(importsIn(join(import.meta.dirname, '../..'), ['src', 'models']))).toEqual([])
  noImportCycles().buildStart()
})

test('imports that only point down are no cycle', () => {
  const files = {
    'src/a.ts': "import { b } from './b.js'\nexport * from './deep/c.js'",
    'src/b.ts': "export { c as b } from './deep/c.js'",
    'src/deep/c.ts': "import 'node:fs'\nexport const c = \"import '../a.js'\" // import '../b.js'"
  }
  expect(cycles(files)).toEqual([])
})

test.each([
  ['of values', "import { a } from './a.js'"],
  ['of types', "import type { A } from './a.js'"],
  ['of one type among values', "import { type A } from './a.js'"],
  ['that runs a file', "import './a.js'"],
  ['at run time', "export const later = () => import('./a.js')"],
  ['of a type in place', "export let a: import('./a.js').A"],
  ['that passes names on', "export type { A } from './a.js'"]
])('an import %s closes a cycle', (_, back) => {
  expect(cycles({ 'src/a.ts': "import { b } from './b.js'", 'src/b.ts': back })).toEqual([
    'src/a.ts -> src/b.ts -> src/a.ts'
  ])
})

test('a cycle goes over folders, and over the name of the socket', () => {
  const files = {
    'src/core/connection.ts': "import { defaultSocket } from '#socket'",
    'src/socket/node.ts': "import type { Kind } from './kind.js'",
    'src/socket/kind.ts': "export type { Kind } from '../core/connection.js'"
  }
  expect(cycles(files)).toEqual([
    'src/core/connection.ts -> src/socket/node.ts -> src/socket/kind.ts -> src/core/connection.ts'
  ])
})

test('a file that imports itself is a cycle', () => {
  expect(cycles({ 'src/a.ts': "import { a } from './a.js'" })).toEqual(['src/a.ts -> src/a.ts'])
})
