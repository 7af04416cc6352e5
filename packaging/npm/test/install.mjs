// What the tests share: packages that are installed from files, and servers.
import { execFile, spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

export const run = promisify(execFile)
export const root = join(dirname(fileURLToPath(import.meta.url)), '../../..')

/** The program under test. */
export function program() {
  const file = process.env.DOGWOOD_BIN
  if (!file) throw new Error('DOGWOOD_BIN names the program under test: go build -o bin/dogwood ./cmd/dogwood')
  return file
}

/** An empty directory, until the test ends. */
export async function emptyDir(t) {
  const dir = await mkdtemp(join(tmpdir(), 'dogwood-npm-test-'))
  t.after(() => rm(dir, { recursive: true, force: true }))
  return dir
}

/** Installs packages from their files, without the network. */
export async function install(dir, files) {
  await writeFile(join(dir, 'package.json'), '{"private": true, "type": "module"}\n')
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', '--loglevel=error', ...files], { cwd: dir })
}

/** Starts a server and resolves to its process and the address that it prints. */
export async function serve(t, command, args, options = {}) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'], detached: true, ...options })
  const ended = new Promise(resolve => child.on('exit', (code, signal) => resolve({ code, signal })))
  t.after(async () => {
    // The whole group: after a failure the server may go on without the command that started it.
    try {
      process.kill(-child.pid)
    } catch (err) {
      if (err.code !== 'ESRCH') throw err // none of it is left
    }
    await ended
  })
  const url = await new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', line => {
      const found = /^Listening on (\S+)/.exec(line)
      if (found) resolve(found[1])
    })
    ended.then(({ code, signal }) => reject(new Error(`the server ended: ${code ?? signal}`)))
  })
  return { child, ended, url }
}

/** Waits until nothing listens at the address of a server. */
export async function refused(url) {
  const { hostname, port } = new URL(url)
  for (const end = Date.now() + 60_000; Date.now() < end; await setTimeout(50)) {
    const socket = connect(port, hostname)
    const open = await new Promise(resolve => socket.on('connect', () => resolve(true)).on('error', () => resolve(false)))
    socket.destroy()
    if (!open) return
  }
  throw new Error(`${url} still accepts connections`)
}
