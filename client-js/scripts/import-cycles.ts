// Finds files that import each other. An import of types counts, too: it is gone at run
// time, but neither file can be understood without the other, and dropping the word "type"
// would make it a cycle at run time without a warning.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'

const root = join(import.meta.dirname, '..')

/** Names in imports that are not paths, and the files they may stand for. */
const aliases: Record<string, string[]> = {
  '#socket': ['src/socket/default.ts', 'src/socket/node.ts'],
  '@dogwood/client': ['src/index.ts'],
  '@dogwood/client/persistence': ['src/persistence.ts'],
  '@dogwood/client/rest': ['src/rest.ts']
}

/** Which files of `folder` each of its files in `parts` imports, by their paths in it. */
export function importsIn(folder: string, parts: readonly string[]): Map<string, string[]> {
  const names = parts.flatMap(part =>
    readdirSync(join(folder, part), { recursive: true, encoding: 'utf8' }).map(name => `${part}/${name}`)
  )
  const files = new Set(names.filter(name => name.endsWith('.ts')))
  const resolve = (from: string, name: string) =>
    name[0] === '.' ? [join(from, '..', name.replace(/\.js$/, '.ts'))] : (aliases[name] ?? [])
  return new Map(
    [...files].map(file => {
      const { importedFiles } = ts.preProcessFile(readFileSync(join(folder, file), 'utf8'))
      const imported = importedFiles.flatMap(({ fileName }) => resolve(file, fileName))
      return [file, imported.filter(name => files.has(name))]
    })
  )
}

/** The shortest cycle through each file that is in one; each cycle once, as `a -> b -> a`. */
export function cyclesOf(imports: ReadonlyMap<string, readonly string[]>): string[] {
  const found = new Map<string, string>()
  for (const file of [...imports.keys()].sort()) {
    const cycle = wayBack(imports, file)
    const key = [...new Set(cycle)].sort().join()
    if (cycle && !found.has(key)) found.set(key, cycle.join(' -> '))
  }
  return [...found.values()]
}

// wayBack is the shortest way from a file over its imports to itself.
function wayBack(imports: ReadonlyMap<string, readonly string[]>, file: string): string[] | undefined {
  const seen = new Set<string>()
  for (let ways = [[file]]; ways.length; ) {
    ways = ways.flatMap(way => {
      const next = (imports.get(way.at(-1)!) ?? []).filter(name => !seen.has(name))
      for (const name of next) seen.add(name)
      return next.map(name => [...way, name])
    })
    const back = ways.find(way => way.at(-1) === file)
    if (back) return back
  }
  return undefined
}

/** A plugin for the bundler: sources that import each other are not built. */
export function noImportCycles() {
  return {
    name: 'no-import-cycles',
    buildStart() {
      const cycles = cyclesOf(importsIn(root, ['src', 'models']))
      if (cycles.length) throw new Error(`import cycles:\n${cycles.join('\n')}`)
    }
  }
}
