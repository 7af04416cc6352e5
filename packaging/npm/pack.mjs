// Packs the npm package dogwood, and one for each platform that there is a program for.
//
//   node packaging/npm/pack.mjs VERSION OUT PLATFORM=PROGRAM...
//
// PLATFORM is the name that Node has for it, such as linux-x64; PROGRAM is the file. The
// packages are written to OUT. npm installs that of its own platform, because the other ones
// are optional and name their system and processor.
import { execFileSync } from 'node:child_process'
import { chmodSync, copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
const license = join(here, '../../LICENSE')
const notices = join(here, '../../THIRD_PARTY.txt')

const [version, out, ...programs] = process.argv.slice(2)
if (!/^\d+\.\d+\.\d+/.test(version ?? '') || !out || programs.length === 0) {
  console.error('usage: node packaging/npm/pack.mjs VERSION OUT PLATFORM=PROGRAM...')
  process.exit(2)
}
mkdirSync(out, { recursive: true })
const work = mkdtempSync(join(tmpdir(), 'dogwood-npm-'))
try {
  const main = JSON.parse(readFileSync(join(here, 'dogwood/package.json'), 'utf8'))
  const optional = {}
  for (const pair of programs) {
    const [platform, program] = pair.split('=')
    optional[`@dogwood/dogwood-${platform}`] = version
    pack(platformPackage(main, platform, program))
  }
  pack(mainPackage(main, optional))
} finally {
  rmSync(work, { recursive: true })
}

function mainPackage(main, optionalDependencies) {
  const dir = join(work, 'dogwood')
  cpSync(join(here, 'dogwood'), dir, { recursive: true })
  return write(dir, { ...main, version, optionalDependencies })
}

function platformPackage(main, platform, program) {
  const [os, cpu] = platform.split('-')
  const dir = join(work, platform)
  const file = join(dir, 'bin', os === 'win32' ? 'dogwood.exe' : 'dogwood')
  mkdirSync(dirname(file), { recursive: true })
  copyFileSync(program, file)
  chmodSync(file, 0o755)
  copyFileSync(notices, join(dir, 'THIRD_PARTY.txt')) // of what is in the program
  const name = `@dogwood/dogwood-${platform}`
  writeFileSync(join(dir, 'README.md'), `# ${name}\n\nThe program of the package \`dogwood\` for ${platform}. Install \`dogwood\`.\n`)
  return write(dir, {
    name,
    version,
    description: `The program of the package dogwood for ${platform}.`,
    license: main.license,
    keywords: main.keywords,
    homepage: main.homepage,
    repository: { ...main.repository, directory: 'packaging/npm' },
    os: [os],
    cpu: [cpu],
    files: ['bin', 'LICENSE', 'README.md', 'THIRD_PARTY.txt'],
    preferUnplugged: true
  })
}

function write(dir, manifest) {
  copyFileSync(license, join(dir, 'LICENSE'))
  writeFileSync(join(dir, 'package.json'), JSON.stringify(manifest, null, 2) + '\n')
  return dir
}

function pack(dir) {
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
  execFileSync(npm, ['pack', '--pack-destination', resolve(out), '--loglevel', 'error'], { cwd: dir, stdio: ['ignore', 'inherit', 'inherit'] })
}
