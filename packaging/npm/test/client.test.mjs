// The package @dogwood/client, packed and installed from its file: its types with the three
// newest versions of TypeScript (in tier long, else the newest), its files, and a program that uses it.
import assert from 'node:assert/strict'
import { readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { emptyDir, install, program, root, run, serve } from './install.mjs'

const client = join(root, 'client-js')
const long = process.env.DOGWOOD_TIER === 'long'
const compilers = long ? ['5.9', '6.0', '7.0'] : ['7.0']
const resolutions = [['nodenext', 'nodenext']]
if (long) resolutions.push(['esnext', 'bundler']) // else a test of client-js compiles them so

/** Packs the client, installs it, and returns the directory. The hook gets what cleans up. */
async function installed(hook) {
  await readFile(join(client, 'dist/index.js')).catch(() => run('npm', ['run', 'build'], { cwd: client }))
  const out = await emptyDir(hook)
  await run('npm', ['pack', '--silent', '--pack-destination', out], { cwd: client })
  const [file] = await readdir(out)
  const dir = await emptyDir(hook)
  await install(dir, [join(out, file)])
  await symlink(join(client, 'node_modules/vue'), join(dir, 'node_modules/vue')) // its types are in those of /vue
  return dir
}

/** The names by which programs import the entries of a package, with those of its patterns. */
async function entries(dir) {
  const manifest = JSON.parse(await readFile(join(dir, 'package.json'), 'utf8'))
  const names = []
  for (const [name, target] of Object.entries(manifest.exports)) {
    if (!target.types) continue
    if (!name.includes('*')) {
      names.push({ name, types: target.types })
      continue
    }
    const folder = dirname(target.types)
    for (const file of await readdir(join(dir, folder))) {
      if (file.endsWith('.d.ts')) {
        names.push({ name: name.replace('*', file.slice(0, -'.d.ts'.length)), types: join(folder, file) })
      }
    }
  }
  return names
}

suite('@dogwood/client', () => {
  let dir
  const cleanups = []
  before(async () => {
    dir = await installed({ after: cleanup => cleanups.push(cleanup) })
  })
  after(() => Promise.all(cleanups.map(cleanup => cleanup())))

  test('types', async t => {
    const names = await entries(join(dir, 'node_modules/@dogwood/client'))
    assert.ok(names.length >= 13, `${names.length} entries`)
    const lines = names.map(({ name }, i) => `import * as entry${i} from '@dogwood/client${name.slice(1)}'\nvoid entry${i}\n`)
    // The compiler complains if there is no error to expect.
    lines.push('// @ts-expect-error a path is text\nentry0.ref(entry0.getDatabase(), 42)\n')
    await writeFile(join(dir, 'all.ts'), lines.join(''))
    const options = ['--noEmit', '--strict', '--skipLibCheck', 'false', '--target', 'es2022', '--lib', 'es2022,dom,dom.iterable']
    for (const version of compilers) {
      for (const [module, resolution] of resolutions) {
        await t.test(`TypeScript ${version}, ${resolution}`, async () => {
          const tsc = join(root, `packaging/npm/node_modules/typescript-${version}/bin/tsc`)
          const args = [tsc, ...options, '--module', module, '--moduleResolution', resolution, 'all.ts']
          await run(process.execPath, args, { cwd: dir }).catch(err => assert.fail(err.stdout))
        })
      }
    }
  })

  test('files', async () => {
    const dist = join(dir, 'node_modules/@dogwood/client')
    const manifest = JSON.parse(await readFile(join(dist, 'package.json'), 'utf8'))
    assert.equal(manifest.license, 'Apache-2.0')
    assert.match(manifest.repository.url, /dogwooddb\/dogwood\.git$/)
    assert.ok(manifest.keywords.length > 0)
    assert.match(await readFile(join(dist, 'LICENSE'), 'utf8'), /Apache License/)
    // A debugger shows the sources, which are in the maps.
    for (const { types } of await entries(dist)) {
      const script = types.replace(/\.d\.ts$/, '.js')
      const map = /\/\/# sourceMappingURL=(\S+)\s*$/.exec(await readFile(join(dist, script), 'utf8'))?.[1]
      assert.ok(map, `${script} names no map`)
      const { sources, sourcesContent } = JSON.parse(await readFile(join(dist, dirname(script), map), 'utf8'))
      assert.equal(sources.length, sourcesContent?.length, `${map} lacks sources`)
    }
  })

  test('a program', async t => {
    const server = await serve(t, program(), ['dev', '--port', '0'])
    await writeFile(
      join(dir, 'program.js'),
      `import { getDatabase, ref, set, get, goOffline } from '@dogwood/client'
const db = getDatabase(process.argv[2])
await set(ref(db, 'greeting'), 'hello')
console.log((await get(ref(db, 'greeting'))).val())
goOffline(db)
`
    )
    const { stdout } = await run(process.execPath, ['program.js', `${server.url}?ns=demo`], { cwd: dir })
    assert.equal(stdout, 'hello\n')
  })
})
