// What axe-core finds in the pages: names that are missing, roles that do not fit, colours that
// are too faint. It sees a part of what makes a page accessible; none of that part may be wrong.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createServer, type Server as HTTPServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join } from 'node:path'
import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { blank, connected, DESKTOP, open, PHONE, pages, sampleServer } from '../support/demo-page.js'

pages()

const long = process.env.DOGWOOD_TIER === 'long'
const looks: [device: string, options: object][] = [
  ['a desktop, light', { ...DESKTOP, colorScheme: 'light', reducedMotion: 'reduce' }],
  ['a phone, dark', { ...PHONE, colorScheme: 'dark', reducedMotion: 'reduce' }]
]
if (long) looks.push(['a desktop, dark', { ...DESKTOP, colorScheme: 'dark', reducedMotion: 'reduce' }])

/** The first two looks in turn, or all in tier long: pages are much alike. */
const looksOf = (i: number) => (long ? looks : [looks[i % 2]!])

/** The findings of axe in a page, as far as they break WCAG 2.2 (A and AA) or its own good practice. */
async function findings(page: Page): Promise<string[]> {
  await page.evaluate(axe.source)
  // The name of the search button of VitePress lacks the key that it shows. Tables in Markdown have
  // a row of headings, though some columns need none.
  const { violations } = (await page.evaluate(
    "axe.run({ exclude: ['.DocSearch'] }, { rules: { 'empty-table-header': { enabled: false } } })"
  )) as axe.AxeResults
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${target.join(' ')}: ${failureSummary}`)
  )
}

/** Opens another page than the demonstration. */
async function visit(address: string, options: object): Promise<Page> {
  const page = await blank(options)
  await page.goto(address)
  return page
}

const samples = long ? ['chat', 'org', 'social', 'msgy', 'im', 'owner-storage'] : ['chat', 'social']

describe.each(samples.map((sample, i) => [sample, i] as const))('the demonstration of %s', (sample, i) => {
  const server = sampleServer(sample)

  test.each(looksOf(i))('on %s', async (_, options) => {
    // Samples are much alike, too: below tier long one has the model's own page, and one the explorer.
    for (const path of ['', '#explorer'].filter((_, p) => long || p === i)) {
      const page = await open(server.host, path, options)
      await connected(page)
      await page.locator('main li').first().waitFor()
      expect(await findings(page), path).toEqual([])
      await page.close()
    }
  })
})

describe('the first page', () => {
  const server = sampleServer('chat')

  test.each(looks)('on %s', async (_, options) => {
    const page = await visit(`http://${server.host}/`, options)
    expect(await page.title()).toBe('Dogwood')
    expect(await findings(page)).toEqual([])
  })
})

const site = join(import.meta.dirname, '../../../site/.vitepress/dist')
const kinds: Record<string, string> = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' }

const isPage = (file: string): boolean => file.endsWith('.html') && file !== '404.html'
const pathOf = (file: string): string => `/${file.replaceAll('\\', '/').replace(/(index)?\.html$/, '')}`

// "npm run build" in site makes it.
describe.skipIf(!existsSync(site))('the site', () => {
  let server: HTTPServer

  beforeAll(async () => {
    server = createServer(({ url }, response) => {
      const { pathname } = new URL(url!, 'http://localhost')
      const file = join(site, pathname.endsWith('/') ? `${pathname}index.html` : pathname)
      const found = existsSync(file) ? file : `${file}.html`
      if (!existsSync(found)) return void response.writeHead(404).end()
      response.writeHead(200, { 'content-type': kinds[extname(found)] ?? 'application/octet-stream' })
      response.end(readFileSync(found))
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  })
  afterAll(() => server?.close())

  // Those of the site are much alike: two are enough for what the theme and the styles do wrong.
  const paths =
    long && existsSync(site)
      ? readdirSync(site, { recursive: true, encoding: 'utf8' }).filter(isPage).map(pathOf)
      : ['/', '/limits']

  test.runIf(long)('has all pages', () => expect(paths.length).toBeGreaterThan(40))

  test.each(looks)(
    'on %s',
    async (device, options) => {
      for (const path of paths.filter((_, i) => looksOf(i).some(([name]) => name === device))) {
        const { port } = server.address() as AddressInfo
        const page = await visit(`http://127.0.0.1:${port}${path}`, options)
        await page.locator('h1').first().waitFor()
        expect(await findings(page), path).toEqual([])
        await page.close()
      }
    },
    long ? 1_800_000 : undefined
  )
})
