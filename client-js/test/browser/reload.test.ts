import { createServer, type Server } from 'node:http'
import { build } from 'esbuild'
import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'

const source = `
  import { getDatabase, goOffline, ref, set } from '@dogwood/client'
  import { enablePersistence } from '@dogwood/client/persistence'
  const db = getDatabase('http://localhost:9000?ns=reload')
  goOffline(db)
  await enablePersistence(db)
  window.write = n => {
    for (let i = 0; i < n; i++) set(ref(db, 'k' + i), i)
    location.reload()
  }
  window.kept = () => new Promise(resolve => {
    const request = indexedDB.open('dogwood localhost:9000 reload')
    request.onsuccess = () => {
      const count = request.result.transaction('writes').objectStore('writes').count()
      count.onsuccess = () => resolve(count.result)
    }
  })
  window.ready = true`

let pages: Server
let browser: Browser

beforeAll(async () => {
  const { outputFiles } = await build({
    stdin: { contents: source, resolveDir: import.meta.dirname },
    bundle: true,
    format: 'esm',
    target: 'es2022',
    write: false,
    tsconfigRaw: {} // ours would lead to src, and persistence to dist
  })
  const html = `<script type="module">${outputFiles[0]!.text}</script>`
  pages = createServer((_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end(html))
  await new Promise<void>(resolve => pages.listen(0, '127.0.0.1', resolve))
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox']
  })
})

afterAll(async () => {
  await browser?.close()
  pages?.close()
})

test('writes of the task that reloads the page are not lost', async () => {
  for (const n of [1, 20, 300]) {
    const context = await browser.newContext()
    const page = await context.newPage()
    await page.goto(`http://127.0.0.1:${(pages.address() as { port: number }).port}/`)
    await page.waitForFunction('window.ready')
    const loaded = page.waitForEvent('load')
    await page.evaluate(`void setTimeout(() => write(${n}))`)
    await loaded
    await page.waitForFunction('window.ready')
    expect(await page.evaluate('kept()')).toBe(n)
    await context.close()
  }
})
