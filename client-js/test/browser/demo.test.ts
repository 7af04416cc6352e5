// The demonstration of `dogwood dev --sample`, as a newcomer would try it.

import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { WebSocket } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import {
  connected,
  contexts,
  DESKTOP,
  inMenu,
  open,
  pages,
  ready,
  room,
  sampleServer,
  say,
  shots,
  shows,
  soon,
  texts
} from '../support/demo-page.js'
import { Relay } from '../support/relay.js'

pages()

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
    await server.rest('chat', 'PUT', '/members/two/mchen', null) // of a first try
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
    // The page shows it before the server has it.
    await soon(() => server.rest('chat', 'GET', '/members/two/mchen')).toBe(null)
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
    const text = `written without a network at ${Date.now()}` // another one if it is tried again
    const relay = await new Relay(server.port).start()
    const hamadi = await open(server.host, '?as=hmadi')
    const mary = await open(relay.host, '?as=mchen', DESKTOP, true)
    await mary.evaluate(() => navigator.serviceWorker.ready.then(() => {}))
    for (const page of [mary, hamadi]) await room(page, 'room alpha').click()
    await shows(mary, 'ok')

    relay.cut()
    await mary.getByText('The server cannot be reached.').waitFor()
    await say(mary, text)
    await mary.locator('.message.waits').waitFor()
    await mary.evaluate('flush()')
    await mary.reload()
    await ready(mary)
    await shows(mary, 'ok')
    await shows(mary, text)
    expect(await mary.locator('.message.waits .text').allTextContents()).toEqual([text])
    await mary.screenshot({ path: join(shots, 'demo-chat-offline.png') })
    await say(hamadi, 'meanwhile')
    expect(await texts(hamadi)).not.toContain(text)

    relay.mend()
    await mary.evaluate(() => dispatchEvent(new Event('online')))
    await shows(mary, 'meanwhile')
    await shows(hamadi, text)
    await soon(() => mary.locator('.message.waits').count()).toBe(0)
    const kept = Object.values<any>(await server.rest('chat', 'GET', '/messages/one'))
    expect(kept.filter(({ message }) => message === text)).toHaveLength(1)
    await contexts[1]!.close()
    relay.stop()
  })

  test('the switch keeps a page offline, also when it is loaded again', async () => {
    const mary = await open(server.host, '?as=mchen')
    await room(mary, 'room alpha').click()
    await shows(mary, 'ok')
    await mary.getByRole('button', { name: 'Go offline' }).click()
    await mary.getByText('You are offline.').waitFor()
    await say(mary, 'kept for later')
    await mary.evaluate('flush()')
    await mary.reload()
    await ready(mary)
    await shows(mary, 'kept for later')
    await mary.getByText('You are offline.').waitFor()
    await mary.getByRole('button', { name: 'Go online' }).click()
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

  test('a reader that is no longer looked through has no connection', async () => {
    const mary = await open(server.host, '?as=mchen')
    const sockets: WebSocket[] = []
    mary.on('websocket', socket => sockets.push(socket))
    for (let n = 1; n <= 2; n++) {
      await mary.getByLabel('Seen by').selectOption('mchen')
      await soon(() => sockets.every(socket => socket.isClosed())).toBe(true)
      await mary.getByLabel('Seen by').selectOption('auditor')
      await soon(() => sockets.length).toBe(n)
    }
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
