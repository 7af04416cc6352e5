// The panel of the demonstration, its sheet on a phone, notices, and the first page.

import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import {
  blank,
  DESKTOP,
  inMenu,
  open,
  PHONE,
  pages,
  room,
  sampleServer,
  say,
  shots,
  shows,
  soon
} from '../support/demo-page.js'

pages()

// "./test.sh long" looks at each combination, and ./test.sh at a dark phone: most tests are on a
// light desktop.
const long = process.env.DOGWOOD_TIER === 'long'
const schemes = long ? ['light', 'dark'] : ['dark']
const looks: [kind: string, options: object, colorSchemes: string[]][] = [['phone', PHONE, schemes]]
if (long) looks.push(['desktop', DESKTOP, schemes])

const leaf = (page: Page, path: string) => page.locator(`.data [data-path="${path}"] > button`)

describe('the data beside the chat', () => {
  const server = sampleServer('chat')

  async function alpha(options: object = DESKTOP): Promise<Page> {
    const page = await open(server.host, '?as=mchen', options)
    await room(page, 'room alpha').click()
    await shows(page, 'ok')
    return page
  }

  test('changes while one types, and marks what has changed', async () => {
    const mary = await alpha()
    await mary.getByRole('tab', { name: 'Data' }).click()
    await leaf(mary, '/rooms/one/name').getByText('"room alpha"').waitFor()
    expect(await mary.locator('.data .fresh').count()).toBe(0)
    await mary.locator('.composer textarea').pressSequentially('h')
    await leaf(mary, '/typing/one/mchen').waitFor()
    await say(mary, 'seen in the tree')
    const row = mary.locator('.data .leaf', { hasText: '"seen in the tree"' })
    await row.waitFor()
    await server.rest('chat', 'PUT', '/rooms/one/name', 'room alpha!')
    await mary.locator('.data [data-path="/rooms/one/name"] > button.fresh').waitFor()
    expect(await leaf(mary, '/rooms/one/name').textContent()).toContain('"room alpha!"')
    expect(await mary.locator('.data [data-path="/rooms/one/type"] > button.fresh').count()).toBe(0)
    await server.rest('chat', 'PUT', '/rooms/one/name', 'room alpha')
  })

  test('is bounded, however much the page listens to', async () => {
    const mary = await alpha()
    await mary.getByRole('tab', { name: 'Data' }).click()
    await leaf(mary, '/rooms/one/name').waitFor()
    const many = Object.fromEntries(Array.from({ length: 2500 }, (_, i) => [`k${i}`, i]))
    await server.rest('chat', 'PUT', '/typing/one', many)
    await leaf(mary, '/typing/one').getByText('2,500 children').waitFor()
    const long = 'x'.repeat(100_000)
    const few = Object.fromEntries(
      Array.from({ length: 1500 }, (_, i) => [`k${i}`, { a: long.slice(0, 900), b: i }])
    )
    await server.rest('chat', 'PUT', '/typing/one', few)
    await mary.locator('.data').getByText('1488 before these').click()
    for (let i = 0; i < 5; i++)
      await mary
        .locator('.data')
        .getByText(/^1\d+ before these$/)
        .click()
    await mary.getByText('the first 250 rows').waitFor()
    expect(await mary.locator('.data [role=treeitem]').count()).toBe(250)
    expect((await mary.locator('.data').textContent())!.length).toBeLessThan(60_000)
    await server.rest('chat', 'DELETE', '/typing')
  })

  test('is walked by keys, and opens and closes', async () => {
    const mary = await alpha()
    await mary.getByRole('tab', { name: 'Rules' }).focus()
    await mary.keyboard.press('ArrowRight')
    await leaf(mary, '/rooms/one').waitFor()
    const first = mary.locator('.data button[tabindex="0"]')
    expect(await first.count()).toBe(1)
    await first.focus()
    for (const key of ['End', 'Home', 'r', 'ArrowLeft']) await mary.keyboard.press(key)
    await soon(() => leaf(mary, '/rooms/one').count()).toBe(0)
    const at = () => mary.evaluate(() => document.activeElement!.parentElement!.dataset.path)
    expect(await at()).toBe('/rooms')
    await mary.keyboard.press('ArrowRight')
    await leaf(mary, '/rooms/one').waitFor()
    expect(await at()).toBe('/rooms')
  })

  test.each(looks)('on a %s, in its colours', async (kind, options, colorSchemes) => {
    for (const colorScheme of colorSchemes) {
      const mary = await alpha({ ...options, colorScheme })
      if (kind === 'phone') await mary.locator('.handle').click()
      await mary.getByRole('tab', { name: 'Data' }).click()
      await leaf(mary, '/rooms/one/name').waitFor()
      await say(mary, `from a ${kind}`)
      await mary
        .locator('.data .leaf', { hasText: `from a ${kind}` })
        .first()
        .waitFor()
      await mary.screenshot({ path: join(shots, `demo-chat-data-${kind}-${colorScheme}.png`) })
    }
  })

  test('the sheet of a phone leaves the newest message in sight, and closes with the view', async () => {
    const mary = await alpha(PHONE)
    await mary.locator('.handle').click()
    await say(mary, 'in sight')
    const message = mary.locator('.message', { hasText: 'in sight' }).last() // of this try
    await message.waitFor()
    const box = await message.boundingBox()
    const foot = await mary.locator('.room-foot').boundingBox()
    expect(box!.y).toBeGreaterThan(0)
    expect(box!.y + box!.height).toBeLessThanOrEqual(foot!.y + 1)
    await mary.getByRole('link', { name: 'Explorer' }).click()
    await soon(() => mary.locator('.panel-inside').isVisible()).toBe(false)
  })

  test('typing is not among the decisions until it is asked for', async () => {
    const mary = await alpha()
    await mary.locator('.composer textarea').pressSequentially('h')
    await say(mary, 'with a decision')
    const log = mary.locator('.panel .log')
    await log.getByText('/messages/one/').first().waitFor()
    expect(await log.getByText('/typing/one/mchen').count()).toBe(0)
    await mary.getByLabel('Typing and presence').check()
    await log.getByText('/typing/one/mchen').first().waitFor()
  })

  test('a notice covers nothing, and goes when the view changes', async () => {
    const mary = await alpha()
    await inMenu(mary, 'Post in the name of somebody else')
    const notice = await mary.locator('.notice.bad').boundingBox()
    const title = await mary.locator('.room-head').boundingBox()
    expect(notice!.y + notice!.height).toBeLessThanOrEqual(title!.y)
    await mary.getByRole('link', { name: 'Explorer' }).click()
    await soon(() => mary.locator('.notice').count()).toBe(0)
  })
})

describe('statuses on a phone', () => {
  const server = sampleServer('social')

  test('the timeline and its button come first', async () => {
    const rita = await open(server.host, '?as=u2', PHONE)
    await rita.locator('.status time', { hasText: '2023' }).first().waitFor()
    const post = await rita.getByRole('button', { name: 'Post' }).boundingBox()
    const bar = await rita.locator('.handle').boundingBox()
    expect(post!.y + post!.height).toBeLessThan(bar!.y)
    const first = await rita.locator('.status').first().boundingBox()
    expect(first!.y).toBeLessThan(bar!.y)
  })
})

describe('the first page', () => {
  const server = sampleServer('chat')

  test.each(looks)('leads to the demonstration on a %s', async (kind, options, colorSchemes) => {
    for (const colorScheme of colorSchemes) {
      const page = await blank({ ...options, colorScheme })
      await page.goto(`http://${server.host}/`)
      await page.screenshot({ path: join(shots, `first-page-${kind}-${colorScheme}.png`) })
      expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true)
      // The policy lets its own style apply.
      expect(await page.evaluate(() => getComputedStyle(document.body).marginTop)).toBe('0px')
      await page.getByRole('link', { name: 'Demonstration' }).click()
      await page.waitForSelector('body[data-ready]')
    }
  })
})
