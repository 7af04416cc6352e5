// docs/tutorial-node.md is played as a reader would: its files are saved, its commands
// run, and what they print is compared.

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { needBuild } from '../support/build.js'
import { Server } from '../support/server.js'
import { blocksOf, Folder } from '../support/tutorial.js'

const servers: Server[] = []
const running: ChildProcess[] = []
let folder: Folder

beforeAll(needBuild)
afterAll(async () => {
  for (const child of running) child.kill()
  for (const server of servers) await server.stop()
  await rm(folder.path, { recursive: true })
})

// The addresses of the page, and where its servers really are.
function replace(text: string): string {
  return text
    .replaceAll('localhost:9000', servers[0]!.host)
    .replaceAll('localhost:9001', servers[1]?.host ?? '')
    .replaceAll(`'localhost', 9001`, `'127.0.0.1', ${servers[1]?.port}`)
}

let printed: string[] = []

/** Runs one line of a block of commands. */
async function run(line: string): Promise<void> {
  const [command, ...words] = line.split(' ')
  if (/^(mkdir|cd|npm) /.test(line)) return // the folder is made, the package is there
  if (line.startsWith('dogwood dev')) {
    const args = words.slice(1).map(word => (word === 'rules.json' ? `${folder.path}/${word}` : word))
    const port = args.indexOf('--port')
    if (port >= 0) args.splice(port, 2) // any that is free
    servers.push(await new Server(args).start())
  } else if (command === 'node' && words[1] === '&') {
    const child = spawn(process.execPath, [words[0]!], {
      cwd: folder.path,
      stdio: ['ignore', 'pipe', 'inherit']
    })
    running.push(child)
    const lines = createInterface({ input: child.stdout! })
    await new Promise<void>(resolve => {
      lines.on('line', text => {
        printed.push(text)
        resolve() // it listens
      })
    })
  } else if (command === 'node') {
    const { stdout } = await promisify(execFile)(process.execPath, words, {
      cwd: folder.path,
      timeout: 60_000
    })
    printed.push(...stdout.split('\n').filter(Boolean))
  } else throw new Error(`nobody runs this: ${line}`)
}

test('the tutorial for Node prints what it says', async () => {
  folder = await Folder.make()
  const blocks = blocksOf('tutorial-node.md')
  for (const block of blocks) {
    const { language, text } = block
    if (language === 'sh') {
      printed = []
      for (const line of text.trim().split('\n')) await run(line)
    } else if (language === 'text') {
      await expect.poll(() => printed.join('\n'), { timeout: 20_000 }).toBe(text.trim())
    } else if (language === 'js' || language === 'json') folder.save(block, replace)
    else throw new Error(`nobody runs this:\n${text}`)
  }
  expect(blocks.length).toBeGreaterThan(15)
})
