// The files of the demonstration that `dogwood dev --sample` serves (package demo of the Go
// module), from their sources. They are committed, so that building the server takes no
// Node; a test compares them with a fresh build.

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { build as bundle } from 'esbuild'

const root = join(import.meta.dirname, '..', '..')
const source = join(root, 'demo', 'src')
const client = join(root, 'client-js', 'src')

/** Where the files are. */
export const dist = join(root, 'demo', 'dist')

const NOTE = '/* Generated from demo/src by "npm run build:demo" in client-js. */'

/** Builds the files: their texts by name. */
export async function build(): Promise<Map<string, string>> {
  const { outputFiles } = await bundle({
    entryPoints: {
      app: join(source, 'main.ts'),
      sw: join(source, 'sw.ts'),
      style: join(source, 'styles/style.css')
    },
    outdir: dist,
    write: false,
    bundle: true,
    minify: true,
    format: 'esm',
    charset: 'utf8',
    legalComments: 'none',
    target: ['es2022', 'chrome123', 'firefox121', 'safari17.5'],
    banner: { js: NOTE, css: NOTE },
    alias: {
      '@dogwood/client': join(client, 'index.ts'),
      '@dogwood/client/persistence': join(client, 'persistence.ts'),
      '@dogwood/client/frames': join(client, 'core/frames.ts'),
      '#socket': join(client, 'socket/default.ts')
    },
    tsconfigRaw: {}
  })
  const files = new Map(outputFiles.map(file => [nameOf(file.path), file.text]))
  for (const name of ['index.html', 'icon.svg']) files.set(name, readFileSync(join(source, name), 'utf8'))
  return new Map([...files].sort())
}

const nameOf = (path: string): string => path.split(/[\\/]/).at(-1)!.replace('style.css', 'app.css')

/** The files as they are committed. */
export function committed(): Map<string, string> {
  const names = existsSync(dist) ? readdirSync(dist).sort() : []
  return new Map(names.map(name => [name.replace(/\.gz$/, ''), textOf(join(dist, name))]))
}

const textOf = (path: string): string => {
  const bytes = readFileSync(path)
  return (path.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8')
}

/** Large files are committed compressed, which makes the server's program smaller. */
const LARGE = 4096

/** Replaces the committed files. */
export function write(files: ReadonlyMap<string, string>): void {
  rmSync(dist, { recursive: true, force: true })
  mkdirSync(dist)
  for (const [name, text] of files)
    if (text.length < LARGE) writeFileSync(join(dist, name), text)
    else writeFileSync(join(dist, `${name}.gz`), gzipSync(text, { level: 9 }))
}
