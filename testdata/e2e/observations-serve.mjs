// `dogwood serve`, for what `dogwood dev` does not do.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { within } from './events.mjs'
import { binary } from './harness.mjs'

/** A server with one database, "default". It ends after `t`. */
export async function serve(t) {
  const folder = await mkdtemp(join(tmpdir(), 'dogwood-e2e-'))
  const args = ['serve', '--host', '127.0.0.1', '--port', '0', '--data', folder]
  const child = spawn(await binary(), args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const killed = () => child.kill('SIGKILL')
  process.on('exit', killed)
  const ended = once(child, 'exit')
  t.after(async () => {
    killed()
    await within(ended, 'end of dogwood serve')
    process.off('exit', killed)
    await rm(folder, { recursive: true, force: true })
  })
  const port = await within(Promise.race([listening(child.stdout), ended]), '"Listening on" line')
  return { port, host: `127.0.0.1:${port}`, url: `http://127.0.0.1:${port}` }
}

function listening(stdout) {
  return new Promise(resolve => {
    createInterface({ input: stdout }).on('line', line => {
      const match = /^Listening on http:\/\/[^:]+:(\d+)/.exec(line)
      if (match) resolve(Number(match[1]))
    })
  })
}
