// How the demonstration looks, and its explorer.

import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import {
  connected,
  DESKTOP,
  NARROW,
  open,
  PHONE,
  pages,
  room,
  sampleServer,
  shots,
  shows,
  soon
} from '../support/demo-page.js'

pages()

// "./test.sh long" looks at every combination, and ./test.sh at each device and scheme once.
// There, the operations are those of a sample that no other test tries.
const long = process.env.DOGWOOD_TIER === 'long'

const samples = (one: string) => (long ? ['chat', 'org', 'social', 'msgy', 'im', 'owner-storage'] : [one])

describe.each(samples('im'))('explorer of %s', sample => {
  const server = sampleServer(sample)

  test('every operation ends as the page says it will', async () => {
    const page = await open(server.host, '#explorer')
    for (const card of await page.locator('.operation').all()) {
      const label = await card.getAttribute('data-label')
      const forbidden = (await card.locator('.tag').count()) > 0
      await card.getByRole('button', { name: 'Try' }).click()
      await card.locator('.verdict').waitFor()
      const verdict = await card.locator('.verdict').textContent()
      const reason = forbidden ? await card.locator('.reason').textContent() : ''
      expect([label, verdict]).toEqual([
        label,
        expect.stringMatching(forbidden ? /^Refused/ : /^(Committed|Answered) in/)
      ])
      if (forbidden) expect(reason).toMatch(/(\.read|\.write|\.validate)/)
    }
  })
})

describe.each(samples('chat'))('tree of %s', sample => {
  const server = sampleServer(sample)

  test('it opens level by level, and a place is live', async () => {
    const page = await open(server.host, '#explorer')
    const tree = page.getByRole('tree')
    await soon(() => tree.locator('[role=treeitem]').count()).toBeGreaterThan(2)
    await server.rest(sample, 'PUT', '/zoo', { animals: { a: { name: 'ape' } } })
    await tree.locator('[data-path="/zoo"] > button').click()
    await tree.locator('[data-path="/zoo/animals"] > button').click()
    await tree.locator('[data-path="/zoo/animals/a"] > button').click()
    await tree.locator('[data-path="/zoo/animals/a/name"] > button').click()
    await expect
      .poll(() => tree.locator('[data-path="/zoo/animals/a/name"]').textContent())
      .toContain('"ape"')
    await soon(() => page.locator('.live').textContent()).toBe('"ape"\n')
    await server.rest(sample, 'PUT', '/zoo/animals/a/name', 'bear')
    await soon(() => page.locator('.live').textContent()).toBe('"bear"\n')
    await expect
      .poll(() => tree.locator('[data-path="/zoo/animals/a/name"]').textContent())
      .toContain('"bear"')
  })
})

const views: [sample: string, path: string][] = [
  ['chat', '?as=mchen'],
  ['chat', '?as=mchen#explorer']
]
if (long) views.push(['org', '?as=brinchen'], ['social', '?as=u2'], ['im', ''])

const devices: [kind: string, options: object, colorSchemes: string[]][] = [
  ['desktop', DESKTOP, long ? ['light', 'dark'] : ['light']],
  ['phone', PHONE, long ? ['light', 'dark'] : ['dark']]
]

describe.each(views.map((view, i) => [...view, i] as const))('the looks of %s %s', (sample, path, i) => {
  const server = sampleServer(sample)
  const name = `demo-${sample}${path.includes('#') ? '-explorer' : ''}`

  test.each(long ? devices : [devices[(i + 1) % 2]!])(
    'on a %s, with enough contrast',
    async (kind, options, colorSchemes) => {
      for (const colorScheme of colorSchemes) {
        const page = await open(server.host, path, { ...options, colorScheme, reducedMotion: 'reduce' })
        await settled(page)
        if (kind === 'phone' && sample === 'chat' && !path.includes('#')) {
          await page.screenshot({ path: join(shots, `${name}-rooms-${kind}-${colorScheme}.png`) })
          await room(page, 'room alpha').click()
          await shows(page, 'ok')
        }
        await page.screenshot({ path: join(shots, `${name}-${kind}-${colorScheme}.png`) })
        expect(await page.evaluate(lowContrast)).toEqual([])
        if (kind === 'phone') {
          await page.locator('.handle').click()
          await page.locator('.panel .entry').first().click()
          await page.screenshot({ path: join(shots, `${name}-sheet-${colorScheme}.png`) })
          expect(await page.evaluate(lowContrast)).toEqual([])
        }
      }
    }
  )

  test('nothing is wider than a phone of 360 pixels, and all has a name', async () => {
    const page = await open(server.host, path, NARROW)
    await settled(page)
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360)
    expect(await page.evaluate(outside)).toEqual([])
    expect(await page.evaluate(nameless)).toEqual([])
  })
})

async function settled(page: Page): Promise<void> {
  await connected(page)
  // The explorer reads as the owner, about whom nothing is decided.
  const operation = page.locator('.operation').first()
  if (await operation.count()) await operation.getByRole('button', { name: 'Try' }).click()
  await page.locator('.panel .entry').first().waitFor({ state: 'attached' })
  await page.locator('main li').first().waitFor()
  // The explorer keeps an event stream open, so there is no end of its network.
  if (await operation.count()) await page.locator('.tree [role=treeitem]').nth(1).waitFor()
  else await page.waitForLoadState('networkidle')
}

/** Texts whose colour is too near to what is behind them. Runs in the page. */
function lowContrast(): string[] {
  const parse = (color: string) => {
    const [r = 0, g = 0, b = 0, a = 1] = (color.match(/[\d.]+/g) ?? []).map(Number)
    return { r, g, b, a }
  }
  const luminance = ({ r, g, b }: { r: number; g: number; b: number }) => {
    const [x, y, z] = [r, g, b].map(v =>
      v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4
    )
    return 0.2126 * x! + 0.7152 * y! + 0.0722 * z!
  }
  const behind = (element: Element | null): { r: number; g: number; b: number } => {
    for (let e = element; e; e = e.parentElement) {
      const color = parse(getComputedStyle(e).backgroundColor)
      if (color.a === 1) return color
    }
    return parse(getComputedStyle(document.documentElement).backgroundColor)
  }
  const found: string[] = []
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement!
    if (!node.textContent!.trim() || !element.checkVisibility({ opacityProperty: true })) continue
    const [light, dark] = [
      luminance(parse(getComputedStyle(element).color)),
      luminance(behind(element))
    ].sort((a, b) => b - a)
    const ratio = (light! + 0.05) / (dark! + 0.05)
    if (ratio < 4.5) found.push(`${node.textContent!.trim().slice(0, 30)}: ${ratio.toFixed(2)}`)
  }
  return found
}

/** Buttons and fields that stick out of the page. Runs in the page. */
function outside(): string[] {
  return [...document.querySelectorAll('button, input, select, textarea, a')]
    .filter(e => e.checkVisibility() && !e.closest('.tree, .menu-body, .skip'))
    .filter(e => e.getBoundingClientRect().width > 1 && e.getBoundingClientRect().right > innerWidth + 1)
    .map(e => e.outerHTML.slice(0, 80))
}

/** Buttons and fields without a name for users who cannot see them. Runs in the page. */
function nameless(): string[] {
  const named = (e: Element) =>
    e.getAttribute('aria-label') ||
    e.textContent!.trim() ||
    (e as HTMLInputElement).labels?.[0]?.textContent?.trim()
  return [...document.querySelectorAll('button, input, select, textarea, a, summary')]
    .filter(e => !named(e))
    .map(e => e.outerHTML.slice(0, 80))
}
