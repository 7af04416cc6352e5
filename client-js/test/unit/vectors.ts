import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Recorded behaviour that all implementations share. */
export function vectors(name: string): any {
  return JSON.parse(
    readFileSync(join(import.meta.dirname, '../../../testdata/vectors', `wire-${name}.json`), 'utf8')
  )
}
