// Bundles the browser build of the official client, which takes its WebSocket
// from the global scope, so that tests can stand between it and the server.

import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'

const cache = join(dirname(fileURLToPath(import.meta.url)), '..', '.cache')

export async function official(Socket: unknown): Promise<any> {
  const outfile = join(cache, 'official.mjs')
  await build({
    stdin: {
      contents: `export * from '@firebase/database'; export { initializeApp, deleteApp, setLogLevel } from '@firebase/app'`,
      resolveDir: join(cache, '..')
    },
    bundle: true,
    format: 'esm',
    platform: 'browser',
    outfile,
    logLevel: 'silent'
  })
  ;(globalThis as any).WebSocket = Socket
  const module = await import(/* @vite-ignore */ pathToFileURL(outfile).href)
  module.setLogLevel('silent')
  return module
}
