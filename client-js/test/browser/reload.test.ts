import { createServer, type Server } from 'node:http'
import { build } from 'esbuild'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect } from '../support/browser.js'

const source = `
  import { getDatabase, goOffline, ref, runTransaction, set } from '@dogwood/client'
  import { enablePersistence } from '@dogwood/client/persistence'
  const db = getDatabase('http://localhost:9000?ns=reload')
  goOffline(db)
  window.lost = []
  const persistence = await enablePersistence(db, {
    onRefused: ({ code }, path) => lost.push(code + ' ' + path)
  })
  window.flush = () => persistence.flush()
  window.write = n => {
    for (let i = 0; i < n; i++) set(ref(db, 'k' + i), i)
    location.reload()
  }
  window.count = () => {
    runTransaction(ref(db, 'count'), n => n + 1)
    location.reload()
  }
  window.kept = () => new Promise(resolve => {
    const request = indexedDB.open('dogwood localhost:9000 reload')
    request.onsuccess = () => {
      const count = request.result.transaction('writes').objectStore('writes').count()
      count.onsuccess = () => resolve(count.result)
    }
  })
  Object.assign(window, { db, ref, runTransaction, ready: true })`

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
  browser = await connect()
})

afterAll(async () => {
  await browser?.close()
  pages?.close()
})

interface Opened {
  page: Page
  /** Runs a program in the page, which loads itself anew. */
  reload(program: string): Promise<void>
}

/** A page in a browser of its own. */
async function opened(context: BrowserContext): Promise<Opened> {
  const page = await context.newPage()
  await page.goto(`http://127.0.0.1:${(pages.address() as { port: number }).port}/`)
  await page.waitForFunction('window.ready')
  return {
    page,
    async reload(program) {
      const loaded = page.waitForEvent('load')
      await page.evaluate(`void setTimeout(() => ${program})`)
      await loaded
      await page.waitForFunction('window.ready')
    }
  }
}

test('writes of the task that reloads the page are not lost', async () => {
  for (const n of [1, 20, 300]) {
    const context = await browser.newContext()
    const { page, reload } = await opened(context)
    await reload(`write(${n})`)
    expect(await page.evaluate('kept()')).toBe(n)
    await context.close()
  }
})

test('a transaction of the task that reloads the page is told once, and not that of another tab', async () => {
  const context = await browser.newContext()
  const [one, other] = [await opened(context), await opened(context)]
  await other.page.evaluate(`void runTransaction(ref(db, 'other'), () => 1)`)
  await other.page.evaluate('flush()')
  await one.reload('count()')
  await one.page.waitForFunction('lost.length')
  expect(await one.page.evaluate('lost')).toEqual(['TRANSACTION_LOST /count'])
  await one.reload('location.reload()')
  await one.page.evaluate('flush()')
  expect(await one.page.evaluate('kept()')).toBe(1) // the note of the other tab
  expect(await one.page.evaluate('lost')).toEqual([])
  expect(await other.page.evaluate('lost')).toEqual([])
  await context.close()
})
