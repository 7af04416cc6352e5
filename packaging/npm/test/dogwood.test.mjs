// The package dogwood, packed, installed from its files and run.
import assert from 'node:assert/strict'
import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { emptyDir, install, program, refused, root, run, serve } from './install.mjs'

const here = `${process.platform}-${process.arch}`

/** Loaded into a process, it has that process wait after each one that it starts. */
const slowStart = `
const processes = require('node:child_process')
const { spawn } = processes
processes.spawn = (...args) => {
  const child = spawn(...args)
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2000)
  return child
}
`

/** Packs the package, and the one of this platform, and returns their files. */
async function pack(t) {
  const out = await emptyDir(t)
  await run('node', [join(root, 'packaging/npm/pack.mjs'), '1.2.3', out, `${here}=${program()}`])
  return (await readdir(out)).map(file => join(out, file))
}

test('npx dogwood', async t => {
  const files = await pack(t)
  assert.equal(files.length, 2)
  const dir = await emptyDir(t)
  await install(dir, files)

  const modules = join(dir, 'node_modules')
  for (const name of ['dogwood', `@dogwood/dogwood-${here}`]) {
    const manifest = JSON.parse(await readFile(join(modules, name, 'package.json'), 'utf8'))
    assert.equal(manifest.version, '1.2.3')
    assert.equal(manifest.license, 'Apache-2.0')
    assert.match(manifest.repository.url, /dogwooddb\/dogwood\.git$/)
    assert.ok(manifest.keywords.length > 0)
    assert.equal(manifest.scripts, undefined) // nothing runs when it is installed
    assert.match(await readFile(join(modules, name, 'LICENSE'), 'utf8'), /Apache License/)
    await stat(join(modules, name, 'README.md'))
  }

  const npx = ['--no-install', 'dogwood']
  const { stdout } = await run('npx', [...npx, 'version'], { cwd: dir })
  assert.match(stdout, /^dogwood /)

  // The demonstration is up.
  const server = await serve(t, 'npx', [...npx, 'dev', '--port', '0', '--sample', 'chat'], { cwd: dir })
  assert.match(await (await fetch(`${server.url}/demo/`)).text(), /<title>/)
  const rooms = await fetch(`${server.url}/rooms.json`, { headers: { Authorization: 'Bearer owner' } })
  assert.deepEqual(Object.keys(await rooms.json()).sort(), ['one', 'three', 'two'])

  // Exit codes and signals pass through.
  const bin = join(modules, '.bin/dogwood')
  await assert.rejects(run(bin, ['fly']), { code: 2 })
  const other = await serve(t, bin, ['dev', '--port', '0'])
  other.child.kill('SIGTERM')
  assert.deepEqual(await other.ended, { code: 0, signal: null })

  // A supervisor ends npx alone, and the server ends, too, whatever the shell is between them.
  // The machine may be so busy that the server listens before the command that started it goes on.
  const slow = join(dir, 'slow.cjs')
  await writeFile(slow, slowStart)
  const env = { ...process.env, NODE_OPTIONS: `--require=${slow}` }
  const third = await serve(t, 'npx', [...npx, 'dev', '--port', '0'], { cwd: dir, env })
  third.child.kill('SIGTERM')
  await third.ended
  await refused(third.url)

  // As after an installation with --omit=optional.
  await rm(join(modules, `@dogwood/dogwood-${here}`), { recursive: true })
  await assert.rejects(run(bin, ['version']), err => {
    assert.equal(err.code, 1)
    assert.match(err.stderr, new RegExp(`the package @dogwood/dogwood-${here} is missing.*--omit=optional`))
    return true
  })
})
