// The tests that use dist tell when it is not there, or not up to date.

import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { complaint } from '../support/build.js'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'dogwood-build-'))
  write('src/api/get.ts', 1000)
})
afterEach(() => rmSync(folder, { recursive: true }))

/** Writes a file that was last changed at `time`, in seconds. */
function write(name: string, time: number): void {
  const path = join(folder, name)
  mkdirSync(join(path, '..'), { recursive: true })
  writeFileSync(path, '')
  utimesSync(path, time, time)
}

test('without dist they say what to run', () => {
  expect(complaint(folder)).toBe('dist is missing: run "npm run build" first')
})

test('with a dist that is older than a source they name that', () => {
  write('dist/index.js', 2000)
  expect(complaint(folder)).toBe(undefined)
  write('models/chat.ts', 3000)
  expect(complaint(folder)).toMatch(/^dist is older than .*chat\.ts: run "npm run build" first$/)
})
