// docs/tutorial-browser.md is followed in Chromium, next to a checkout: its files are saved
// and served, its commands run, and after each part the windows must show what it says.

import { execFile } from 'node:child_process'
import { createServer, type Server as HttpServer } from 'node:http'
import { extname } from 'node:path'
import { promisify } from 'node:util'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { connect } from '../support/browser.js'
import { Relay } from '../support/relay.js'
import { Server } from '../support/server.js'
import { blocksOf, Folder } from '../support/tutorial.js'

let folder: Folder
let server: Server
let relay: Relay // what the pages take for the server, so that it can be away
let files: HttpServer
let browser: Browser
let context: BrowserContext
let windows: Page[]

const types: Record<string, string> = { '.html': 'text/html', '.js': 'text/javascript' }

beforeEach(async () => {
  folder = await Folder.make()
  browser = await connect()
  context = await browser.newContext()
}, 120_000)

afterEach(async () => {
  await browser?.close()
  files?.close()
  relay?.stop()
  await server?.stop()
  await folder.remove()
})

async function serve(): Promise<void> {
  files = createServer((request, response) => {
    const { pathname } = new URL(request.url!, 'http://x')
    const name = pathname === '/' ? '/index.html' : pathname
    try {
      const file = folder.read(`.${name}`)
      response.writeHead(200, { 'content-type': types[extname(name)] }).end(file)
    } catch {
      response.writeHead(404).end()
    }
  })
  await new Promise<void>(resolve => files.listen(0, '127.0.0.1', resolve))
}

const open = (page: Page) => page.goto(`http://127.0.0.1:${(files.address() as { port: number }).port}/`)

/** Runs one line of a block of commands. */
async function run(line: string): Promise<void> {
  if (line === './dogwood dev') {
    server = await new Server([], folder.path).start()
    relay = await new Relay(server.port).start()
  } else if (line === 'npx serve') {
    await serve()
    windows = [await context.newPage(), await context.newPage()]
    for (const page of windows) await open(page)
  } else if (line.startsWith('curl ')) {
    await promisify(execFile)('sh', ['-c', line.replace('localhost:9000', server.host)], { timeout: 60_000 })
  } else throw new Error(`nobody runs this: ${line}`)
}

const say = async (page: Page, text: string) => {
  await page.fill('#text', text)
  await page.press('#text', 'Enter')
}

const lists = async (page: Page, ...texts: string[]) =>
  expect
    .poll(() => page.locator('li').allTextContents(), { timeout: 60_000 })
    .toEqual(['hello from the command line', ...texts])

const here = (page: Page, text: string) =>
  expect.poll(() => page.textContent('#here'), { timeout: 60_000 }).toBe(text)

/** What is so after the last block of a part. */
const parts: Record<string, () => Promise<void>> = {
  async Messages() {
    const [ana, bo] = windows as [Page, Page]
    await lists(ana)
    await say(ana, 'hello')
    await lists(bo, 'hello')
    await say(bo, 'hi')
    await lists(ana, 'hello', 'hi')
  },
  async 'Who is there'() {
    const [ana, bo] = windows as [Page, Page]
    await ana.reload()
    await bo.reload()
    await here(ana, '2 here')
    await bo.close()
    await here(ana, '1 here')
  },
  async 'Without a network'() {
    const ana = windows[0]!
    await ana.reload()
    await lists(ana, 'hello', 'hi')
    await saved(ana, 'views')
    relay.cut()
    await say(ana, 'from nowhere')
    await lists(ana, 'hello', 'hi', 'from nowhere')
    await saved(ana, 'writes')
    await ana.reload()
    await lists(ana, 'hello', 'hi', 'from nowhere')
    relay.mend()
    await expect
      .poll(() => server.rest('tutorial', 'GET', '/rooms/lobby/messages'), { timeout: 60_000 })
      .toSatisfy((all: object) => Object.keys(all).length === 4)
    await lists(ana, 'hello', 'hi', 'from nowhere')
    // The windows of one browser share one connection.
    const bo = await context.newPage()
    let sockets = 0
    bo.on('websocket', () => sockets++)
    await open(bo)
    await lists(bo, 'hello', 'hi', 'from nowhere')
    await here(bo, '2 here')
    expect(sockets).toBe(0)
  }
}

// saved waits until the messages, or writes, are on disk.
const saved = (page: Page, store: 'views' | 'writes') =>
  expect
    .poll(() => page.evaluate(onDisk, store), { timeout: 60_000 })
    .toContain(store === 'views' ? 'command line' : 'from nowhere')

// onDisk runs in the page.
async function onDisk(store: string): Promise<string> {
  const [found] = await indexedDB.databases()
  const request = indexedDB.open(found!.name!)
  const db = await new Promise<IDBDatabase>(resolve => {
    request.onsuccess = () => resolve(request.result)
  })
  const all = db.transaction(store).objectStore(store).getAll()
  await new Promise(resolve => {
    all.onsuccess = resolve
  })
  db.close()
  return JSON.stringify(all.result)
}

test('the tutorial for the browser', async () => {
  const blocks = blocksOf('tutorial-browser.md')
  const done = new Set<string>()
  for (const [i, block] of blocks.entries()) {
    const { language, text, heading } = block
    if (i === 0) await folder.install(block)
    else if (language === 'sh') for (const line of text.trim().split('\n')) await run(line)
    else if (language === 'html' || language === 'js') {
      folder.save(block, text => text.replaceAll('localhost:9000', relay.host))
    } else throw new Error(`nobody runs this:\n${text}`)
    if (blocks[i + 1]?.heading === heading) continue
    await parts[heading]?.()
    done.add(heading)
  }
  expect(Object.keys(parts).filter(heading => !done.has(heading))).toEqual([])
}, 600_000)
