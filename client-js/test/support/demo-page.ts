// Pages of the demonstration of `dogwood dev --sample`, in Chromium.

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { connect } from './browser.js'
import { Server } from './server.js'

export const shots = join(import.meta.dirname, '..', '.cache', 'screenshots')

export const DESKTOP = { viewport: { width: 1280, height: 800 } }
export const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true }
export const NARROW = { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true }

let browser: Browser
export let contexts: BrowserContext[] = []
let complaints: string[] = []

/** Opens pages for the tests of a file. A test fails if something goes wrong in one of its pages. */
export function pages(): void {
  beforeAll(async () => {
    mkdirSync(shots, { recursive: true })
    browser = await connect()
  }, 180_000)

  afterAll(() => browser?.close())

  afterEach(async () => {
    for (const context of contexts) await context.close()
    contexts = []
    const all = complaints
    complaints = []
    expect(all).toEqual([])
  })
}

// What a browser says while there is no network.
const noNetwork = /net::ERR_|WebSocket connection to|ServiceWorker/

// And of an answer over HTTP that the rules refuse, which some operations are made for.
const refusedRead = /^Failed to load resource: the server responded with a status of 401/

// And of a first connection that takes long, as on a busy machine: the client asks for the cause by a
// plain request to the address of the WebSocket, and may warn.
const slowConnection =
  /^Failed to load resource: the server responded with a status of 426|^dogwood: no connection to \S+ yet/

/** An empty page in a browser of its own. All that goes wrong is noted. */
export async function blank(options: object = DESKTOP, offline = false): Promise<Page> {
  const context = await browser.newContext({ ...options, locale: 'en-US', timezoneId: 'UTC' })
  contexts.push(context)
  await context.addInitScript(() => {
    addEventListener('securitypolicyviolation', event => {
      console.error(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`)
    })
  })
  context.setDefaultTimeout(60_000)
  const page = await context.newPage()
  page.on('pageerror', error => complaints.push(String(error.stack)))
  page.on('console', message => {
    const text = message.text()
    if (!['error', 'warning'].includes(message.type()) || (offline && noNetwork.test(text))) return
    if (refusedRead.test(text) || slowConnection.test(text)) return
    complaints.push(text)
  })
  return page
}

/** Opens the demonstration in a browser of its own. */
export async function open(
  host: string,
  path = '',
  options: object = DESKTOP,
  offline = false
): Promise<Page> {
  const page = await blank(options, offline)
  await page.goto(`http://${host}/demo/${path}`)
  await ready(page)
  return page
}

/** Expects something of what `f` returns before long. */
export const soon = <T>(f: () => T | Promise<T>) => expect.poll(f, { timeout: 60_000 })

export const ready = (page: Page) => page.waitForSelector('body[data-ready]')
export const connected = (page: Page) => page.waitForSelector('body[data-state=connected]')

/** Has a server with a sample for the tests of a block. */
export function sampleServer(name: string): Server {
  const server = new Server(['--sample', name])
  beforeAll(() => server.start().then(() => {}), 180_000)
  afterAll(() => server.stop())
  return server
}

export const texts = (page: Page) => page.locator('.message .text').allTextContents()

export async function say(page: Page, text: string): Promise<void> {
  await page.fill('.composer textarea', text)
  await page.press('.composer textarea', 'Enter')
}

export const shows = (page: Page, text: string) =>
  soon(async () => (await texts(page)).includes(text)).toBe(true)

export const room = (page: Page, name: string) => page.locator('.room-entry', { hasText: name })

export async function inMenu(page: Page, item: string): Promise<void> {
  await page.locator('.room-head .menu > summary').click()
  await page.getByRole('button', { name: item }).click()
}
