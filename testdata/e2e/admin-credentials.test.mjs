// npm firebase-admin with the key file of a service account, as its
// documentation says, against `dogwood serve` over TLS: no emulator variable.
// Node reads extra certificates when it starts, so the client is a process of
// its own: admin-credentials-client.mjs.

import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { within } from './events.mjs'
import { binary, Server } from './harness.mjs'

const here = dirname(fileURLToPath(import.meta.url))
const certificate = join(here, 'tls', 'cert.pem')

test('firebase-admin with a service account', async t => {
  const folder = await mkdtemp(join(tmpdir(), 'dogwood-e2e-'))
  const dogwood = async (...args) => (await promisify(execFile)(await binary(), args)).stdout
  const data = ['--data', folder]
  const server = await new Server(
    [...data, '--namespace', 'shop,test', '--tls-cert', certificate, '--tls-key', join(here, 'tls', 'key.pem')], 'serve'
  ).start()
  t.after(async () => {
    await server.kill()
    await rm(folder, { recursive: true, force: true })
  })
  const url = `https://localhost:${server.port}`
  const key = name => join(folder, `${name}.json`)
  await dogwood('serviceaccount', 'create', 'backend', '--out', key('backend'), '--url', url, ...data)
  await dogwood('serviceaccount', 'create', 'shop', '--out', key('shop'), '--url', url, '--namespace', 'shop', ...data)
  await dogwood('serviceaccount', 'create', 'gone', '--out', key('gone'), '--url', url, ...data)
  await dogwood('serviceaccount', 'revoke', 'gone', ...data)

  const env = { ...process.env, NODE_EXTRA_CA_CERTS: certificate, DOGWOOD_TEST_URL: url, DOGWOOD_TEST_KEYS: folder }
  delete env.FIREBASE_DATABASE_EMULATOR_HOST
  delete env.NODE_TEST_CONTEXT // the client reports by its output and exit code
  const client = spawn(process.execPath, ['--test', '--test-reporter=tap', join(here, 'admin-credentials-client.mjs')], { env })
  t.after(() => client.kill('SIGKILL'))
  const output = []
  client.stdout.on('data', chunk => output.push(chunk))
  client.stderr.on('data', chunk => output.push(chunk))
  const code = await within(new Promise(resolve => client.once('exit', resolve)), 'end of the client', 50_000)
  const report = Buffer.concat(output).toString()
  assert.equal(code, 0, report)
  assert.match(report, /^# pass 7$/m)

  // What is secret is in the files of the data directory, and nowhere else.
  const secret = (await readFile(join(folder, 'admin-secret'), 'utf8')).trim()
  const { private_key: privateKey } = JSON.parse(await readFile(key('backend'), 'utf8'))
  for (const text of [secret, privateKey.split('\n')[1], 'dogwood_']) {
    assert.ok(!server.output.includes(text), 'a secret is in the output of the server')
  }
})
