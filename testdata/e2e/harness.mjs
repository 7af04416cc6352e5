// The real binary and real clients: starting, stopping, killing, connecting.

import { execFile, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { deleteApp, getApps, initializeApp, setLogLevel } from 'firebase/app'
import { getDatabase } from 'firebase/database'
import { within } from './events.mjs'
import { Proxy } from './proxy.mjs'

const here = dirname(fileURLToPath(import.meta.url))
const root = join(here, '..', '..')

// The clients warn about every missing index and refused connection; here both
// are part of the plan.
setLogLevel('silent')

/** Path of the binary under test: $DOGWOOD_BIN, else built from this tree. */
export async function binary() {
  if (process.env.DOGWOOD_BIN) return process.env.DOGWOOD_BIN
  const path = join(here, '.cache', 'dogwood')
  await promisify(execFile)('go', ['build', '-o', path, './cmd/dogwood'], { cwd: root })
  return path
}

// No server outlives the tests, not even when the runner ends them.
const running = new Set()
process.on('exit', () => running.forEach(child => child.kill('SIGKILL')))
process.once('SIGTERM', () => process.exit(143))

/** One `dogwood dev` or `serve` process. It may be started again after stop() or kill(). */
export class Server {
  port = 0 // 0: the system chooses; kept over a restart
  output = '' // what it printed
  #args
  #command
  #child = null

  constructor(args = [], command = 'dev') {
    this.#args = args
    this.#command = command
  }

  get host() {
    return `127.0.0.1:${this.port}`
  }

  get url() {
    return `http://${this.host}`
  }

  async start() {
    const args = [this.#command, '--host', '127.0.0.1', '--port', String(this.port), ...this.#args]
    const child = spawn(await binary(), args, { stdio: ['ignore', 'pipe', 'pipe'] })
    this.#child = child
    running.add(child)
    const stderr = []
    child.stderr.on('data', chunk => stderr.push(chunk))
    child.stdout.on('data', chunk => (this.output += chunk))
    child.stderr.on('data', chunk => (this.output += chunk))
    child.exited = new Promise(resolve => child.once('exit', (code, signal) => resolve({ code, signal })))
    const died = child.exited.then(({ code, signal }) => {
      running.delete(child)
      // An exit that nobody asked for is the most useful line of a failed run.
      const text = `dogwood ended (code ${code}, signal ${signal}): ${Buffer.concat(stderr)}`
      if (!child.ending) console.error(text)
      throw new Error(text)
    })
    died.catch(() => {})
    this.port = await within(Promise.race([listening(child.stdout), died]), '"Listening on" line')
    return this
  }

  /** Ends the process in order; its connections get a proper end. */
  stop() {
    return this.#end('SIGTERM')
  }

  /** Ends the process as a power cut would. */
  kill() {
    return this.#end('SIGKILL')
  }

  async #end(signal) {
    const child = this.#child
    if (!child) return
    this.#child = null
    child.ending = true
    child.kill(signal)
    return within(child.exited, `exit after ${signal}`).finally(() => child.kill('SIGKILL'))
  }
}

// listening resolves with the port of the "Listening on" line. It reads on
// afterwards: a full pipe would block the process.
function listening(stdout) {
  return new Promise(resolve => {
    createInterface({ input: stdout }).on('line', line => {
      const match = /Listening on https?:\/\/[^:]+:(\d+)/.exec(line)
      if (match) resolve(Number(match[1]))
    })
  })
}

/** A server in memory for all tests of the surrounding suite. */
export function sharedServer(args) {
  const server = new Server(args)
  before(() => server.start())
  after(() => server.stop())
  return server
}

/** A server with a data folder, for one test that stops or kills it. */
export async function durableServer(t) {
  const folder = await mkdtemp(join(tmpdir(), 'dogwood-e2e-'))
  const server = await new Server(['--data', folder]).start()
  t.after(async () => {
    await server.kill()
    await rm(folder, { recursive: true, force: true })
  })
  return server
}

/** A recording, disturbing TCP proxy in front of `server`, closed after `t`. */
export async function proxyTo(t, server) {
  const proxy = await new Proxy(server).listen()
  t.after(() => proxy.close())
  return proxy
}

let names = 0

/** A namespace nobody else uses. */
export function freshNamespace() {
  return `e2e-${process.pid}-${++names}`
}

/**
 * One test's corner of a server: a namespace of its own, clients in it, and
 * plain HTTP. Everything it opens is closed after the test.
 */
export function scene(t, server, ns = freshNamespace()) {
  const databaseURL = via => `${via.url}?ns=${ns}`
  return {
    ns,

    /** A client of its own: own app, own connection, own cache. */
    client(via = server) {
      const app = initializeApp({ databaseURL: databaseURL(via) }, `app-${++names}`)
      t.after(() => leave(app))
      return getDatabase(app)
    },

    /** A client behind a proxy of its own. */
    async proxied() {
      const proxy = await proxyTo(t, server)
      return { proxy, db: this.client(proxy) }
    },

    /** A REST call; resolves with the Response. */
    fetch(path, { query = {}, body, ...init } = {}) {
      const params = new URLSearchParams({ ns, ...query })
      const request = fetch(`${server.url}/${path}.json?${params}`, {
        ...init,
        body: body === undefined ? undefined : JSON.stringify(body)
      })
      return within(request, `answer to ${init.method ?? 'GET'} /${path}.json`)
    },

    /** A REST call that must succeed; resolves with the decoded body. */
    async rest(method, path, body, query) {
      const response = await this.fetch(path, { method, body, query })
      const text = await response.text()
      if (!response.ok) throw new Error(`${method} /${path}.json: ${response.status} ${text}`)
      return text && JSON.parse(text)
    }
  }
}

/** Ends an app for good, unless it has ended: connection, cache, queued writes. */
export async function leave(app) {
  if (getApps().includes(app)) await deleteApp(app)
}
