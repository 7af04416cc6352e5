// The README's shell and JavaScript blocks, run as they stand but for the port.
// Its Go block is run by testdata/e2e-go.

import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { suite, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { within } from './events.mjs'
import { sharedServer } from './harness.mjs'

const here = dirname(fileURLToPath(import.meta.url))
const readme = await readFile(join(here, '..', '..', 'README.md'), 'utf8')

/** The first block of a language behind the heading "Use". */
function block(language) {
  const use = readme.slice(readme.indexOf('\n## Use'))
  return new RegExp('```' + language + '\n([^]*?)```').exec(use)[1]
}

/** The command curl, or the stand-in for it where there is none. */
async function curl() {
  const there = promisify(execFile)('curl', ['--version'])
  return there.then(() => 'curl', () => `'${process.execPath}' '${join(here, 'curl.mjs')}'`)
}

suite('README', () => {
  const server = sharedServer(['--sample', 'chat'])
  const here9000 = text => text.replaceAll('localhost:9000', server.host)

  test('curl', async () => {
    const { stdout } = await within(
      promisify(execFile)('sh', ['-ec', here9000(block('sh').replaceAll('curl ', `${await curl()} -sSfg `))]),
      'end of the curl commands'
    )
    assert.match(stdout, /"one":true/)
    assert.match(stdout, /"four":\{"name":"room echo","type":"public"\}/)
    // The database is that of the demonstration.
    const read = path => fetch(`${server.url}/${path}.json?ns=chat`, { headers: { Authorization: 'Bearer owner' } })
    const messages = Object.values(await (await read('messages/one')).json())
    assert.ok(messages.some(({ sender, message }) => sender === 'hmadi' && message === 'hello from curl'))
    assert.deepEqual(Object.keys(await (await read('rooms')).json()).sort(), ['one', 'three', 'two'])
  })

  test('JavaScript', async t => {
    await mkdir(join(here, '.cache'), { recursive: true })
    const folder = await mkdtemp(join(here, '.cache', 'readme-')) // below node_modules' parent
    t.after(() => rm(folder, { recursive: true, force: true }))
    await writeFile(join(folder, 'chat.mjs'), here9000(block('js')))
    const child = spawn(process.execPath, [join(folder, 'chat.mjs')], { stdio: ['ignore', 'pipe', 'inherit'] })
    t.after(() => child.kill())
    const heard = new Promise(resolve => {
      createInterface({ input: child.stdout }).on('line', line => line.endsWith(' hello') && resolve(line))
    })
    assert.match(await within(heard, 'the message that was pushed'), /^-\S{19} hello$/)
  })
})
