import { mkdirSync, readFileSync } from 'node:fs'
import { createServer, type Server as HttpServer } from 'node:http'
import { join } from 'node:path'
import { build } from 'esbuild'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { connect } from '../support/browser.js'
import { Relay } from '../support/relay.js'
import { freshNamespace, Server } from '../support/server.js'

const here = import.meta.dirname
const shots = join(here, '..', '.cache', 'screenshots')

let server: Server
let pages: HttpServer
let origin: string
let browser: Browser
let context: BrowserContext
let sockets = 0 // that the pages of a test have opened

beforeAll(async () => {
  mkdirSync(shots, { recursive: true })
  server = await new Server().start()
  const bundle = async (contents: string) => {
    const { outputFiles } = await build({
      stdin: { contents, resolveDir: here, loader: 'ts' },
      bundle: true,
      format: 'esm',
      target: 'es2022',
      write: false,
      tsconfigRaw: {} // ours would lead to src, and persistence to dist
    })
    return outputFiles[0]!.text
  }
  const chat = await bundle(readFileSync(join(here, 'chat.ts'), 'utf8'))
  const snippet = await bundle(`
    import Wilddog from '@dogwood/client/wilddog'
    var ref = new Wilddog(document.title)
    ref.once('value', function (snapshot) { document.body.textContent = JSON.stringify(snapshot.val()) })`)
  pages = createServer((request, response) => {
    const path = new URL(request.url!, 'http://x').pathname
    const types: Record<string, string> = { '.js': 'text/javascript', html: 'text/html' }
    const send = (type: string, text: string) =>
      response.writeHead(200, { 'content-type': types[type]! }).end(text)
    if (path === '/chat.js') send('.js', chat)
    else if (path === '/snippet.js') send('.js', snippet)
    else if (path.startsWith('/node_modules/@dogwood/client/dist/')) {
      send('.js', readFileSync(join(here, '../../dist', path.split('/').at(-1)!), 'utf8'))
    } else if (path === '/readme') {
      const readme = readFileSync(join(here, '../../README.md'), 'utf8')
      const page = /^```html\n(.*?)^```/ms.exec(readme)![1]!
      send('html', page.replace('localhost:9000', server.host))
    } else if (path === '/snippet') {
      const url = new URL(request.url!, 'http://x').searchParams.get('url')
      send('html', `<title>${url}</title><body><script type="module" src="/snippet.js"></script>`)
    } else send('html', readFileSync(join(here, 'chat.html'), 'utf8'))
  })
  await new Promise<void>(resolve => pages.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${(pages.address() as { port: number }).port}`
  browser = await connect()
}, 180_000)

afterAll(async () => {
  await browser?.close()
  pages?.close()
  await server?.stop()
})

afterEach(async () => {
  await context?.close()
  sockets = 0
})

async function chat(ns: string, name: string, more = '', where = context): Promise<Page> {
  const page = await where.newPage()
  page.on('websocket', () => sockets++)
  await page.goto(address(server.url(ns), name) + more)
  await page.waitForFunction('window.ready')
  return page
}

const address = (database: string, name: string) =>
  `${origin}/?name=${name}&db=${encodeURIComponent(database)}`

const say = async (page: Page, text: string) => {
  await page.fill('#text', text)
  await page.press('#text', 'Enter')
}

const shown = (page: Page) =>
  page.evaluate(() => [...document.querySelectorAll('li')].map(li => li.textContent))

async function lists(page: Page, ...texts: string[]): Promise<void> {
  await expect.poll(() => shown(page), { timeout: 60_000 }).toEqual(texts)
}

const online = (page: Page, ...names: string[]) =>
  page.waitForFunction(
    want => [...document.querySelectorAll('#online b')].map(b => b.textContent).join() === want,
    names.join()
  )

test('a chat in two tabs of one browser', async () => {
  context = await browser.newContext()
  const ns = freshNamespace()
  const ana = await chat(ns, 'ana')
  const bo = await chat(ns, 'bo')
  await say(ana, 'hello')
  await lists(bo, 'ana: hello')
  await say(bo, 'hi')
  await lists(ana, 'ana: hello', 'bo: hi')
  await online(ana, 'ana', 'bo')
  await ana.screenshot({ path: join(shots, 'chat-ana.png') })
  await bo.screenshot({ path: join(shots, 'chat-bo.png') })

  expect(sockets).toBe(1)
  await bo.close()
  await online(ana, 'ana')
  await say(ana, 'bye')
  await lists(ana, 'ana: hello', 'bo: hi', 'ana: bye')
})

test('when the tab with the connection is closed, the other goes on', async () => {
  context = await browser.newContext()
  const ns = freshNamespace()
  const ana = await chat(ns, 'ana')
  const bo = await chat(ns, 'bo')
  await online(bo, 'ana', 'bo')
  await ana.close()
  await online(bo, 'bo')
  await say(bo, 'still here')
  await lists(bo, 'bo: still here')
  expect(Object.values(await server.rest(ns, 'GET', '/messages'))).toEqual([{ by: 'bo', text: 'still here' }])
})

test('a tab without a network, which is reloaded: nothing is lost or doubled', async () => {
  context = await browser.newContext()
  const elsewhere = await browser.newContext()
  const relay = await new Relay(server.port).start()
  const ns = freshNamespace()
  const bo = await chat(ns, 'bo', '', elsewhere)
  const ana = await context.newPage()
  await ana.goto(address(`http://${relay.host}?ns=${ns}`, 'ana'))
  await say(ana, 'one')
  await lists(bo, 'ana: one')
  await ana.waitForFunction(() => !document.querySelector('.waiting'))

  // The server hears the second one, its answer gets lost.
  relay.mute()
  await say(ana, 'two')
  await lists(bo, 'ana: one', 'ana: two')
  relay.cut()
  await online(bo, 'bo')
  await ana.waitForSelector('#banner:not([hidden])')
  await say(ana, 'three')
  await say(ana, 'four')
  await lists(ana, 'ana: one', 'ana: two', 'ana: three', 'ana: four')
  await ana.screenshot({ path: join(shots, 'chat-offline.png') })
  await ana.evaluate('flush()')
  await ana.reload()
  await lists(ana, 'ana: one', 'ana: two', 'ana: three', 'ana: four')
  await say(ana, 'five')
  await say(bo, 'are you there?')
  await expect
    .poll(async () => {
      const { messages, count } = await server.rest(ns, 'GET', '/')
      return [Object.keys(messages).length, count]
    })
    .toEqual([3, 3])

  relay.mend()
  await ana.evaluate(() => dispatchEvent(new Event('online')))
  const texts = ['one', 'two', 'three', 'four', 'five'].map(text => `ana: ${text}`)
  const all = [...texts, 'bo: are you there?']
  await lists(ana, ...all)
  await lists(bo, ...all)
  await online(bo, 'ana', 'bo')
  await expect.poll(() => server.rest(ns, 'GET', '/count')).toBe(6)
  const after = await server.rest(ns, 'GET', '/messages')
  expect(Object.values<any>(after).map(({ by, text }) => `${by}: ${text}`)).toEqual(all)
  await ana.screenshot({ path: join(shots, 'chat-back.png') })
  await elsewhere.close()
  relay.stop()
})

test('writes of a tab that is closed offline are sent by the next one', async () => {
  context = await browser.newContext()
  const ns = freshNamespace()
  const offline = await chat(ns, 'ana', '&offline')
  await say(offline, 'one')
  await lists(offline, 'ana: one')
  await offline.evaluate('flush()')
  await offline.close()
  expect(await server.rest(ns, 'GET', '/')).toBe(null)
  const back = await chat(ns, 'ana')
  await lists(back, 'ana: one')
  await expect.poll(() => server.rest(ns, 'GET', '/count')).toBe(1)
})

test('another browser sees that a tab was killed', async () => {
  context = await browser.newContext()
  const ns = freshNamespace()
  const ana = await chat(ns, 'ana')
  const elsewhere = await browser.newContext()
  const page = await chat(ns, 'bo', '', elsewhere)
  await online(ana, 'ana', 'bo')
  // A crash of the page: no code of it runs any more.
  await page.goto('chrome://crash').catch(() => {})
  await online(ana, 'ana')
  await elsewhere.close()
})

test('the page of the README', async () => {
  context = await browser.newContext()
  await server.rest('tutorial', 'PUT', '/rooms/lobby/messages', { a: { text: 'one' }, b: { text: 'two' } })
  const page = await context.newPage()
  await page.goto(`${origin}/readme`)
  await lists(page, 'one', 'two')
})

test('the snippet of the classic API', async () => {
  context = await browser.newContext()
  const ns = freshNamespace()
  await server.rest(ns, 'PUT', '/web/org/users/mchen/groups/alpha', true)
  const page = await context.newPage()
  const url = `http://${server.host}/web/org/users/mchen/groups/alpha?ns=${ns}`
  await page.goto(`${origin}/snippet?url=${encodeURIComponent(url)}`)
  await page.waitForFunction(() => document.body.textContent === 'true')
})
