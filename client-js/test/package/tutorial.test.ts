// docs/tutorial-node.md is followed as a reader would, next to a checkout: its files are
// saved, its commands run, and what they print is compared.

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Server } from '../support/server.js'
import { blocksOf, Folder } from '../support/tutorial.js'

const servers: Server[] = []
const running: ChildProcess[] = []
let folder: Folder

beforeAll(async () => {
  folder = await Folder.make()
}, 120_000)
afterAll(async () => {
  for (const child of running) child.kill()
  for (const server of servers) await server.stop()
  await folder.remove()
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
  if (line.startsWith('./dogwood dev')) {
    const args = words.slice(1)
    const port = args.indexOf('--port')
    if (port >= 0) args.splice(port, 2) // any that is free
    servers.push(await new Server(args, folder.path).start())
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
  const blocks = blocksOf('tutorial-node.md')
  for (const [i, block] of blocks.entries()) {
    const { language, text } = block
    if (i === 0) await folder.install(block)
    else if (language === 'sh') {
      printed = []
      for (const line of text.trim().split('\n')) await run(line)
    } else if (language === 'text') {
      await expect.poll(() => printed.join('\n'), { timeout: 60_000 }).toBe(text.trim())
    } else if (language === 'js' || language === 'json') folder.save(block, replace)
    else throw new Error(`nobody runs this:\n${text}`)
  }
  expect(blocks.length).toBeGreaterThan(15)
}, 600_000)
