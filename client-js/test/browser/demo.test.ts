// The demonstration of `dogwood dev --sample`, as somebody would try it.

import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { Relay } from '../support/relay.js'
import { Server } from '../support/server.js'

const shots = join(import.meta.dirname, '..', '.cache', 'screenshots')

const DESKTOP = { viewport: { width: 1280, height: 800 } }
const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true }
const NARROW = { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true }

let browser: Browser
let contexts: BrowserContext[] = []
let complaints: string[] = []

beforeAll(async () => {
  mkdirSync(shots, { recursive: true })
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox']
  })
}, 180_000)

afterAll(() => browser?.close())

afterEach(async () => {
  for (const context of contexts) await context.close()
  contexts = []
  const all = complaints
  complaints = []
  expect(all).toEqual([])
})

// What a browser says while there is no network.
const noNetwork = /net::ERR_|WebSocket connection to|ServiceWorker/

// And of an answer over HTTP that the rules refuse, which some operations are made for.
const refusedRead = /^Failed to load resource: the server responded with a status of 401/

/** Opens the demonstration in a browser of its own. All that goes wrong is noted. */
async function open(host: string, path = '', options: object = DESKTOP, offline = false): Promise<Page> {
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
    if (refusedRead.test(text)) return
    complaints.push(text)
  })
  await page.goto(`http://${host}/demo/${path}`)
  await ready(page)
  return page
}

/** Expects something of what `f` returns before long. */
const soon = <T>(f: () => T | Promise<T>) => expect.poll(f, { timeout: 60_000 })

const ready = (page: Page) => page.waitForSelector('body[data-ready]')
const connected = (page: Page) => page.waitForSelector('body[data-state=connected]')

/** Has a server with a sample for the tests of a block. */
function sampleServer(name: string): Server {
  const server = new Server(['--sample', name])
  beforeAll(() => server.start().then(() => {}), 180_000)
  afterAll(() => server.stop())
  return server
}

const texts = (page: Page) => page.locator('.message .text').allTextContents()

async function say(page: Page, text: string): Promise<void> {
  await page.fill('.composer textarea', text)
  await page.press('.composer textarea', 'Enter')
}

const shows = (page: Page, text: string) => soon(async () => (await texts(page)).includes(text)).toBe(true)

const room = (page: Page, name: string) => page.locator('.room-entry', { hasText: name })

async function inMenu(page: Page, item: string): Promise<void> {
  await page.locator('.room-head .menu > summary').click()
  await page.getByRole('button', { name: item }).click()
}

describe('the curl lines of the README', () => {
  const server = sampleServer('chat')
  const readme = readFileSync(join(import.meta.dirname, '..', '..', '..', 'README.md'), 'utf8')
  const lines = /^With curl[\s\S]*?```sh\n([\s\S]*?)```/m.exec(readme)![1]!.trim().split('\n')

  /** Runs the line with a text in it, as in the shell that has run the first one. */
  async function type(text: string): Promise<void> {
    const line = lines.find(line => line.includes(text))!
    const script = `${lines[0]}\n${line.replace('curl', 'curl -sSf')}`
    await promisify(execFile)('sh', ['-ec', script.replaceAll('localhost:9000', server.host)], {
      timeout: 60_000
    })
  }

  test('change the page', async () => {
    const mary = await open(server.host, '?as=mchen')
    await room(mary, 'room alpha').click()
    await shows(mary, 'ok')
    await type('/messages/one.json')
    await shows(mary, 'hello from curl')
    await type('-X PUT')
    await room(mary, 'room delta').waitFor()
    await type('-X PATCH')
    await room(mary, 'room echo').waitFor()
    await room(mary, 'room bravo!').waitFor()
    await type('-X DELETE')
    await soon(() => room(mary, 'room echo').count()).toBe(0)
  })
})

describe('chat', () => {
  const server = sampleServer('chat')

  test('two pages see each other at once', async () => {
    const mary = await open(server.host, '?as=mchen')
    const hamadi = await open(server.host, '?as=hmadi')
    for (const page of [mary, hamadi]) await room(page, 'room alpha').click()
    await say(mary, 'hello from Mary')
    await shows(hamadi, 'hello from Mary')
    await hamadi.locator('.member .avatar.online').nth(1).waitFor()
    await hamadi.locator('.composer textarea').pressSequentially('and ')
    await mary.getByText('Hamadi Madi is typing…').waitFor()
    await say(hamadi, 'hello from Hamadi')
    await shows(mary, 'hello from Hamadi')
    await soon(() => mary.locator('.typing').textContent()).toBe('')

    await contexts[1]!.close() // onDisconnect
    await soon(() => mary.locator('.member .avatar.online').count()).toBe(1)
  })

  test('joining, leaving, an unread room, and paging backwards', async () => {
    const mary = await open(server.host, '?as=mchen')
    const hamadi = await open(server.host, '?as=hmadi')
    await room(mary, 'room bravo').click()
    await mary.getByText('Only members may read what is said here.').waitFor()
    await mary.getByRole('button', { name: 'Join the room' }).click()
    await shows(mary, 'welcome to bravo')
    await room(mary, 'room alpha').click()
    await room(hamadi, 'room bravo').click()
    await say(hamadi, 'news')
    await room(mary, 'room bravo').locator('.unread').waitFor()
    await room(mary, 'room bravo').click()
    await shows(mary, 'news')
    await soon(() => room(mary, 'room bravo').locator('.unread').count()).toBe(0)

    await inMenu(mary, 'Post 40 lines')
    await shows(mary, 'line 40 of 40')
    expect(await texts(mary)).not.toContain('welcome to bravo')
    await mary.getByRole('button', { name: 'Earlier messages' }).click()
    await shows(mary, 'welcome to bravo')
    await say(hamadi, 'after the lines')
    await shows(mary, 'after the lines')
    const all = await texts(mary)
    expect(all.indexOf('welcome to bravo')).toBe(0)
    expect(all.filter(text => /^line \d+ of 40$/.test(text))).toHaveLength(40)

    await inMenu(mary, 'Leave the room')
    await mary.getByRole('button', { name: 'Join the room' }).waitFor()
    expect(await server.rest('chat', 'GET', '/members/two/mchen')).toBe(null)
  })

  test('a new room, a member who is invited, and the end of it', async () => {
    const mary = await open(server.host, '?as=mchen')
    const byambyn = await open(server.host, '?as=brinchen')
    await mary.getByText('New room').click()
    await mary.fill('.create input[type=text]', 'room of the test')
    await mary.getByText('Private', { exact: true }).click()
    await mary.getByRole('button', { name: 'Create' }).click()
    await mary.getByRole('heading', { name: 'room of the test' }).waitFor()
    await say(mary, 'first')
    await shows(mary, 'first')
    await inMenu(mary, 'Invite Byambyn Rinchen')
    await room(byambyn, 'room of the test').click()
    await shows(byambyn, 'first')
    await inMenu(mary, 'Delete the room')
    await soon(() => room(byambyn, 'room of the test').count()).toBe(0)
  })

  test('a page without a network writes, is loaded again, and catches up', async () => {
    const relay = await new Relay(server.port).start()
    const hamadi = await open(server.host, '?as=hmadi')
    const mary = await open(relay.host, '?as=mchen', DESKTOP, true)
    await mary.evaluate(() => navigator.serviceWorker.ready.then(() => {}))
    for (const page of [mary, hamadi]) await room(page, 'room alpha').click()
    await shows(mary, 'ok')

    relay.cut()
    await mary.getByText('The server cannot be reached.').waitFor()
    await say(mary, 'written without a network')
    await mary.locator('.message.waits').waitFor()
    await mary.evaluate('flush()')
    await mary.reload()
    await ready(mary)
    await shows(mary, 'ok')
    await shows(mary, 'written without a network')
    expect(await mary.locator('.message.waits .text').allTextContents()).toEqual([
      'written without a network'
    ])
    await mary.screenshot({ path: join(shots, 'demo-chat-offline.png') })
    await say(hamadi, 'meanwhile')
    expect(await texts(hamadi)).not.toContain('written without a network')

    relay.mend()
    await mary.evaluate(() => dispatchEvent(new Event('online')))
    await shows(mary, 'meanwhile')
    await shows(hamadi, 'written without a network')
    await soon(() => mary.locator('.message.waits').count()).toBe(0)
    const kept = Object.values<any>(await server.rest('chat', 'GET', '/messages/one'))
    expect(kept.filter(({ message }) => message === 'written without a network')).toHaveLength(1)
    await contexts[1]!.close()
    relay.stop()
  })

  test('the switch keeps a page offline, also when it is loaded again', async () => {
    const mary = await open(server.host, '?as=mchen')
    await room(mary, 'room alpha').click()
    await shows(mary, 'ok')
    await mary.getByRole('switch', { name: 'Go offline' }).click()
    await mary.getByText('You are offline.').waitFor()
    await say(mary, 'kept for later')
    await mary.evaluate('flush()')
    await mary.reload()
    await ready(mary)
    await shows(mary, 'kept for later')
    await mary.getByText('You are offline.').waitFor()
    await mary.getByRole('switch', { name: 'Go offline' }).click()
    await connected(mary)
    await soon(() => mary.locator('.message.waits').count()).toBe(0)
    const kept = Object.values<any>(await server.rest('chat', 'GET', '/messages/one'))
    expect(kept.at(-1)).toMatchObject({ sender: 'mchen', message: 'kept for later' })
  })

  test('what is refused explains itself', async () => {
    const mary = await open(server.host, '?as=mchen')
    await room(mary, 'room alpha').click()
    await shows(mary, 'ok')
    await inMenu(mary, 'Post in the name of somebody else')
    const notice = mary.locator('.notice.bad')
    await notice.getByText('Post in the name of Hamadi Madi: refused').waitFor()
    expect(await notice.textContent()).toContain('/messages/$room/$msg/sender/.validate')
    expect(await texts(mary)).not.toContain('Hamadi Madi did not say this')
    await notice.getByRole('button', { name: 'Show how the rules decided' }).click()
    const step = mary.locator('.panel .step.deciding').first()
    await step.waitFor()
    expect(await step.locator('.source').textContent()).toBe('newData.val() === auth.uid')
    const values = await step.locator('.values').textContent()
    expect(values).toContain('newData.val()"hmadi"')
    expect(values).toContain('auth.uid"mchen"')
    await mary.screenshot({ path: join(shots, 'demo-chat-refused.png') })

    for (const item of [
      'Post with a time of your own',
      'Leave with half',
      'Change a message',
      'Leave your own'
    ]) {
      const before = await mary.locator('.panel .chip.bad').count()
      await inMenu(mary, item)
      await soon(() => mary.locator('.panel .chip.bad').count()).toBeGreaterThan(before)
    }
    await mary.getByRole('button', { name: 'Try to list all rooms' }).click()
    await mary.locator('.notice', { hasText: '/rooms/.read' }).waitFor()
  })

  test('the messages of the protocol: filtered, paused, in full', async () => {
    const mary = await open(server.host, '?as=mchen')
    await room(mary, 'room alpha').click()
    await shows(mary, 'ok')
    await mary.getByRole('tab', { name: 'Messages' }).click()
    const entries = mary.locator('.panel .log .entry')
    await mary.fill('.panel input[type=search]', 'a line of the test')
    await soon(() => entries.count()).toBe(0)
    await say(mary, 'a line of the test')
    await entries.filter({ hasText: 'sentput' }).first().click()
    expect(await mary.locator('.panel .log .source').first().textContent()).toContain(
      '"message": "a line of the test"'
    )
    await mary.getByRole('button', { name: 'Pause' }).click()
    const shown = await entries.count()
    await say(mary, 'a line of the test, again')
    await mary.getByText(/paused, [1-9]\d* missed/).waitFor()
    expect(await entries.count()).toBe(shown)
  })

  test('who is signed out is shown nothing', async () => {
    const nobody = await open(server.host, '?as=anon')
    await nobody.getByText('The rules show them to nobody who is signed out.').waitFor()
  })
})

describe('org', () => {
  const server = sampleServer('org')

  test('both sides of a membership change by one update, and none by half of it', async () => {
    const page = await open(server.host, '?as=brinchen')
    const bravo = page.locator('[data-group=bravo]')
    const hamadi = page.locator('[data-user=hmadi]')
    await bravo.locator('[data-add=hmadi]').click()
    await page.getByText(/^Committed in \d+ ms$/).waitFor()
    expect(await page.locator('.update-paths li').allTextContents()).toEqual([
      'groups/bravo/members/hmaditrue',
      'users/hmadi/groups/bravotrue'
    ])
    await bravo.locator('.pair', { hasText: 'Hamadi Madi' }).waitFor()
    await hamadi.locator('.pair', { hasText: 'Bravo Foxtrot' }).waitFor()

    await page.getByRole('radio', { name: 'The group’s half' }).check()
    await bravo.locator('[data-add=solo]').click()
    await page.getByText('Refused, and nothing was changed').waitFor()
    expect(await page.locator('.update .reason').textContent()).toContain('/groups/$g/members/$u/.write')
    expect(await bravo.locator('.pair', { hasText: 'Solo Artist' }).count()).toBe(0)
    expect(await server.rest('org', 'GET', '/groups/bravo/members')).toEqual({ brinchen: true, hmadi: true })
    await page.screenshot({ path: join(shots, 'demo-org-refused.png') })
  })

  test('by the rules, somebody sees what is his; a group as long as he is in it', async () => {
    const mary = await open(server.host, '?as=mchen')
    const byambyn = await open(server.host, '?as=brinchen')
    await mary.getByLabel('Seen by').selectOption('mchen')
    await mary.locator('[data-user=mchen]').waitFor()
    await expect.poll(() => mary.locator('[data-user]').count()).toBe(1)
    expect(await mary.locator('[data-group=bravo]').count()).toBe(0)
    await byambyn.locator('[data-group=bravo] [data-add=mchen]').click()
    await mary.locator('[data-user=mchen] .pair', { hasText: 'bravo' }).waitFor()
  })
})

describe('social', () => {
  const server = sampleServer('social')

  test('a second client fills the home, and counters move with what they count', async () => {
    const rita = await open(server.host, '?as=u2')
    await rita.getByLabel('Who the second client is').selectOption('u1')
    await rita.getByRole('button', { name: 'Start' }).click()
    await rita.locator('.status', { hasText: 'counted at once with what it counts' }).waitFor()
    await rita.getByRole('button', { name: 'Stop' }).click()

    const count = (what: string) => rita.locator(`[data-count=${what}]`).textContent()
    await rita.getByRole('button', { name: 'Follow Tove Tree' }).click()
    await rita.locator('.status', { hasText: '@dr_josiah trees can do it too' }).waitFor()
    await soon(() => count('following')).toBe('2')
    await rita.getByRole('button', { name: 'Unfollow Tove Tree' }).click()
    await soon(() => count('following')).toBe('1')
    await soon(() => rita.locator('.status', { hasText: 'trees can do it too' }).count()).toBe(0)

    await rita.fill('.status-form textarea', 'a status of the test')
    await rita.getByRole('button', { name: 'Post' }).click()
    await rita.locator('.status', { hasText: 'a status of the test' }).waitFor()
    await soon(() => count('statuses')).toBe('2')
    await rita.getByRole('button', { name: 'Delete “a status of the test”' }).click()
    await soon(() => count('statuses')).toBe('1')

    await rita.getByRole('button', { name: 'Try to have a thousand followers' }).click()
    await rita.locator('.notice', { hasText: '/users/$uid/followers/.write' }).waitFor()
    expect(await server.rest('social', 'GET', '/users/u2/followers')).toBe(0)
  })
})

// An administrator's script, or older rules, may have left what no rule would take.
describe('data of other kinds than expected', () => {
  const wrong = [{ a: 1 }, [1, null, 2], 5, true, 'text', 1e300]

  const plant = (server: Server, ns: string, values: Record<string, unknown>) =>
    server.rest(ns, 'PATCH', '/', values)

  describe('in the chat', () => {
    const server = sampleServer('chat')

    test('is shown as far as it can be, and the room goes on', async () => {
      const messages = wrong.map((value, i) => [
        `messages/one/z${i}`,
        { sender: value, message: wrong[(i + 1) % wrong.length], sent: wrong[(i + 2) % wrong.length] }
      ])
      const rooms = wrong.map((value, i) => [
        `rooms/wrong${i}`,
        { type: 'public', name: value, owner: value }
      ])
      await plant(server, 'chat', {
        ...Object.fromEntries([...messages, ...rooms]),
        'messages/one/zz': 'no message',
        'rooms/one/name': { a: 1 },
        'rooms/one/owner': [1, 2],
        'members/one/0': true,
        'users/mchen/rooms/0': true,
        'rooms/0': 'no room',
        'typing/one': [1, 2],
        presence: 'nobody'
      })
      const mary = await open(server.host, '?as=mchen')
      await room(mary, 'one').click()
      await shows(mary, 'shall we ship today?')
      expect((await texts(mary)).slice(-7)).toEqual([
        '(no text)',
        '5',
        'true',
        'text',
        '1e+300',
        '(no text)',
        '(no text)'
      ])
      expect(await room(mary, 'wrong0').count()).toBe(1)
      await say(mary, 'it goes on')
      await shows(mary, 'it goes on')
      await plant(server, 'chat', { 'members/one': { mchen: true }, 'rooms/one': 'a text', presence: null })
      await mary.locator('.room-title h1', { hasText: 'one' }).waitFor()
      await plant(server, 'chat', { 'rooms/one': { name: 'mended', type: 'private', owner: 'mchen' } })
      await mary.locator('.room-title h1', { hasText: 'mended' }).waitFor()
    })
  })

  describe('in users and groups', () => {
    const server = sampleServer('org')

    test('is shown as far as it can be, and changes are seen', async () => {
      await plant(server, 'org', {
        'users/solo': 'no user',
        'users/hmadi/name': { a: 1 },
        'users/hmadi/groups': [true, null, true],
        'groups/alpha/name': [1, 2],
        'groups/alpha/owner': { a: 1 },
        'groups/bravo': 5,
        'groups/charlie/members': 'nobody'
      })
      const page = await open(server.host, '?as=brinchen')
      await page.locator('[data-group=alpha] h3', { hasText: 'alpha' }).waitFor()
      await page.locator('[data-group=bravo]', { hasText: 'no members' }).waitFor()
      await page.locator('[data-user=solo]', { hasText: 'in no group' }).waitFor()
      expect(await page.locator('[data-user=hmadi] .pair').count()).toBe(2)
      await plant(server, 'org', { 'users/solo': { name: 'Solo again', groups: { alpha: true } } })
      await page.locator('[data-user=solo] h3', { hasText: 'Solo again' }).waitFor()
    })
  })

  describe('in statuses', () => {
    const server = sampleServer('social')

    test('is shown as far as it can be, and counters move', async () => {
      const statuses = wrong.map((value, i) => [
        `statuses/w${i}`,
        { uid: value, login: value, message: value, posted: value }
      ])
      await plant(server, 'social', {
        ...Object.fromEntries(statuses),
        'statuses/w6': 'no status',
        'home/u2': Object.fromEntries(['s2', 'w0', 'w1', 'w2', 'w3', 'w4', 'w5', 'w6'].map(id => [id, 9])),
        'users/u1': 'no user',
        'users/u2/posts': { a: 1 },
        'users/u3/name': [1, 2],
        'users/u3/login': { a: 1 },
        'following/u2': 'nobody'
      })
      const rita = await open(server.host, '?as=u2')
      await rita.locator('.status', { hasText: 'sorted sets are timelines' }).waitFor()
      await soon(() => rita.locator('.status').count()).toBe(8)
      await plant(server, 'social', { 'users/u2/posts': 7 })
      await soon(() => rita.locator('[data-count=statuses]').textContent()).toBe('7')
    })
  })
})

describe.each(['chat', 'org', 'social', 'msgy', 'im', 'owner-storage'])('explorer of %s', sample => {
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

  test('the tree opens level by level, and a place is live', async () => {
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

// ---- how it looks

const views: [sample: string, path: string][] = [
  ['chat', '?as=mchen'],
  ['chat', '?as=mchen#explorer'],
  ['org', '?as=brinchen'],
  ['social', '?as=u2'],
  ['im', '']
]

describe.each(views)('the looks of %s %s', (sample, path) => {
  const server = sampleServer(sample)
  const name = `demo-${sample}${path.includes('#') ? '-explorer' : ''}`

  test.each([
    ['desktop', DESKTOP],
    ['phone', PHONE]
  ])('on a %s, light and dark, with enough contrast', async (kind, options) => {
    for (const colorScheme of ['light', 'dark']) {
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
  })

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
  await page.waitForLoadState('networkidle')
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

/** Buttons and fields without a name for those who do not see them. Runs in the page. */
function nameless(): string[] {
  const named = (e: Element) =>
    e.getAttribute('aria-label') ||
    e.textContent!.trim() ||
    (e as HTMLInputElement).labels?.[0]?.textContent?.trim()
  return [...document.querySelectorAll('button, input, select, textarea, a, summary')]
    .filter(e => !named(e))
    .map(e => e.outerHTML.slice(0, 80))
}
