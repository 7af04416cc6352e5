// What some tests need: the package as it is published, built from these sources.

import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..', '..')

/** The sources of what is in `dist`. */
const sources = ['src', 'models', 'frameworks', 'scripts/short-names.ts', 'tsdown.config.ts']

/** Says what is wrong with the build in a folder like that of the package, if anything is. */
export function complaint(folder: string): string | undefined {
  const built = join(folder, 'dist', 'index.js')
  if (!existsSync(built)) return 'dist is missing: run "npm run build" first'
  const time = statSync(built).mtimeMs
  const newer = sources
    .flatMap(source => filesOf(join(folder, source)))
    .find(file => statSync(file).mtimeMs > time)
  return newer && `dist is older than ${newer}: run "npm run build" first`
}

function filesOf(path: string): string[] {
  if (!existsSync(path)) return []
  if (!statSync(path).isDirectory()) return [path]
  return readdirSync(path).flatMap(name => filesOf(join(path, name)))
}

/** Fails with a word about what to do, unless `dist` is what the sources make. */
export function needBuild(): void {
  const problem = complaint(root)
  if (problem) throw new Error(problem)
}
