// The real server: built if it must be, started, stopped, asked by HTTP.

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const here = dirname(fileURLToPath(import.meta.url))
const module = join(here, '..', '..', '..')
const cache = join(here, '..', '.cache')

/** Path of the binary under test: $DOGWOOD_BIN, else built from this tree. */
export async function binary(): Promise<string> {
  if (process.env.DOGWOOD_BIN) return process.env.DOGWOOD_BIN
  const path = join(cache, 'dogwood')
  await promisify(execFile)('go', ['build', '-o', path, './cmd/dogwood'], { cwd: module })
  process.env.DOGWOOD_BIN = path
  if (!existsSync(path)) throw new Error(`no binary at ${path}`)
  return path
}

const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/** One `dogwood dev` process. It may be started again on the same port. */
export class Server {
  port = 0
  private child?: ChildProcess

  /** With a folder, the process is its ./dogwood, and runs there. */
  constructor(
    private readonly args: readonly string[] = [],
    private readonly folder?: string
  ) {}

  get host(): string {
    return `127.0.0.1:${this.port}`
  }

  url(ns: string): string {
    return `http://${this.host}?ns=${ns}`
  }

  async start(): Promise<this> {
    const args = ['dev', '--host', '127.0.0.1', '--port', String(this.port), ...this.args]
    const command = this.folder ? join(this.folder, 'dogwood') : await binary()
    const child = spawn(command, args, { cwd: this.folder, stdio: ['ignore', 'pipe', 'pipe'] })
    this.child = child
    running.add(child)
    let stderr = ''
    child.stderr!.on('data', chunk => {
      stderr += chunk
    })
    this.port = await new Promise<number>((resolve, reject) => {
      child.once('exit', code => {
        running.delete(child)
        reject(new Error(`dogwood ended (code ${code}): ${stderr}`))
      })
      createInterface({ input: child.stdout! }).on('line', line => {
        const match = /Listening on http:\/\/[^:]+:(\d+)/.exec(line)
        if (match) resolve(Number(match[1]))
      })
    })
    return this
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const { child } = this
    if (!child) return
    this.child = undefined
    const exited = new Promise(resolve => child.once('exit', resolve))
    child.kill(signal)
    await exited
    running.delete(child)
  }

  /** A REST call as administrator; resolves with the decoded body. */
  async rest(ns: string, method: string, path: string, body?: unknown): Promise<any> {
    const response = await fetch(`http://${this.host}${path}.json?ns=${ns}`, {
      method,
      headers: { authorization: 'Bearer owner' },
      body: body === undefined ? undefined : JSON.stringify(body)
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
    return text && JSON.parse(text)
  }
}

let names = 0

/** A namespace nobody else uses. */
export const freshNamespace = (): string => `t-${process.pid}-${++names}`
