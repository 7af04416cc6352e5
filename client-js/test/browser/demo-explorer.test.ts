// The explorer of the demonstration: what it fetches, and its keys.

import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { contexts, open, pages, sampleServer, soon } from '../support/demo-page.js'

pages()

// Far more than a page shows; as many as the bounds are meant for in tier long.
const ROWS = process.env.DOGWOOD_TIER === 'long' ? 200_000 : 20_000
const count = (n: number) => n.toLocaleString('en-US')

/** Counts what a page gets from now on, over HTTP and over WebSockets. */
async function meter(page: Page) {
  const counts = { bytes: 0, listings: [] as string[] }
  const session = await contexts.at(-1)!.newCDPSession(page)
  await session.send('Network.enable')
  session.on('Network.dataReceived', ({ dataLength }) => void (counts.bytes += dataLength))
  session.on('Network.webSocketFrameReceived', ({ response }) => {
    counts.bytes += response.payloadData.length
  })
  page.on('request', request => {
    const { pathname, searchParams } = new URL(request.url())
    if (searchParams.has('shallow')) counts.listings.push(pathname)
  })
  return counts
}

const item = (page: Page, path: string) => page.locator(`.tree [data-path="${path}"]`)
const press = (page: Page, path: string) => item(page, path).locator(':scope > button').click()
const preview = (page: Page, path: string) =>
  item(page, path).locator(':scope > button .preview').textContent()

describe('a place with very many rows below it', () => {
  const server = sampleServer('social')

  beforeAll(async () => {
    const big: Record<string, unknown> = {}
    for (let i = 0; i < ROWS; i++) big[`k${String(i).padStart(6, '0')}`] = { n: i }
    await server.rest('social', 'PUT', '/big', { rows: big })
  }, 300_000)

  test('is listed page by page, and costs no more than what is shown', async () => {
    const page = await open(server.host, '#explorer')
    const got = await meter(page)
    await press(page, '/big')
    await press(page, '/big/rows')
    await soon(() => preview(page, '/big/rows')).toBe(count(ROWS))
    await page.getByText(`${count(ROWS - 50)} more`, { exact: true }).waitFor()
    await soon(() => page.locator('.live').textContent()).toContain(`… ${count(ROWS - 30)} more`)
    expect(await item(page, '/big/rows').locator('[role=treeitem]').count()).toBe(50)
    expect(await page.locator('.live span').count()).toBeLessThan(400)
    expect(got.bytes).toBeLessThan(200_000)

    await page.getByText(`${count(ROWS - 50)} more`, { exact: true }).click()
    await page.getByText(`${count(ROWS - 100)} more`, { exact: true }).waitFor()
    expect(await item(page, '/big/rows').locator('[role=treeitem]').count()).toBe(100)

    // A write elsewhere reads no level that it does not concern.
    got.listings = []
    await server.rest('social', 'PUT', '/elsewhere', { a: 1 })
    await item(page, '/elsewhere').waitFor()
    expect(got.listings).toContain('/.json')
    expect(got.listings.filter(path => path.startsWith('/big'))).toEqual([])

    await server.rest('social', 'PUT', '/big/rows/k0000001', { n: 1 })
    await soon(() => preview(page, '/big/rows')).toBe(count(ROWS + 1))
    expect(got.bytes).toBeLessThan(400_000)
  })

  test('a place that grows is no longer listened to as a whole', async () => {
    await server.rest('social', 'PUT', '/grows', { a: 1 })
    const page = await open(server.host, '#explorer')
    await press(page, '/grows')
    await soon(() => page.locator('.live').textContent()).toContain('"a": 1')
    const many = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`k${i}`, i]))
    await server.rest('social', 'PUT', '/grows', many)
    await soon(() => page.locator('.live').textContent()).toContain('… 970 more')
    const got = await meter(page)
    await server.rest('social', 'PUT', '/grows/k0', 'changed')
    await soon(() => page.locator('.live').textContent()).toContain('"k0": "changed"')
    expect(got.bytes).toBeLessThan(20_000)
  })
})

describe('the tree', () => {
  const server = sampleServer('chat')

  test('is walked by keys', async () => {
    const page = await open(server.host, '#explorer')
    await item(page, '/users').waitFor()
    const at = () => page.evaluate(() => document.activeElement!.parentElement!.dataset.path)
    const keys = async (...names: string[]) => {
      for (const name of names) await page.keyboard.press(name)
    }
    await item(page, '').locator(':scope > button').focus()
    await keys('ArrowRight')
    const first = await at() // into what is open
    expect(first).toBe('/members')
    await keys('End')
    expect(await at()).toBe('/users')
    await keys('Home')
    expect(await at()).toBe('')
    await keys('r')
    expect(await at()).toBe('/rooms')
    await keys('ArrowRight')
    await item(page, '/rooms/one').waitFor()
    await keys('ArrowRight')
    expect(await at()).toBe('/rooms/one')
    await keys('ArrowDown')
    expect(await at()).toBe('/rooms/three')
    await keys('ArrowLeft') // out of what is closed
    expect(await at()).toBe('/rooms')
    await keys('ArrowLeft')
    await soon(() => item(page, '/rooms/one').count()).toBe(0)
    expect(await at()).toBe('/rooms')
  })

  test('keeps its height beside what is shown below it', async () => {
    const page = await open(server.host, '#explorer')
    await press(page, '/rooms')
    await item(page, '/rooms/two').waitFor()
    await press(page, '/rooms/two')
    await soon(() => page.locator('.live').textContent()).toContain('"room bravo"')
    const { inner, outer, end, next } = await page.evaluate(() => {
      const tree = document.querySelector('.tree')!
      const [above, below] = [tree, document.querySelector('.place')!].map(e => e.getBoundingClientRect())
      return { inner: tree.scrollHeight, outer: tree.clientHeight, end: above!.bottom, next: below!.top }
    })
    expect(next).toBeGreaterThanOrEqual(end)
    expect(outer).toBe(inner)
  })
})
