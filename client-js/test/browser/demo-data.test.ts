// The demonstration shows whatever is in the database.

import { describe, expect, test } from 'vitest'
import { open, pages, room, sampleServer, say, shows, soon, texts } from '../support/demo-page.js'
import type { Server } from '../support/server.js'

pages()

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
      await page.locator('[data-group=alpha] h2', { hasText: 'alpha' }).waitFor()
      await page.locator('[data-group=bravo]', { hasText: 'no members' }).waitFor()
      await page.locator('[data-user=solo]', { hasText: 'in no group' }).waitFor()
      expect(await page.locator('[data-user=hmadi] .pair').count()).toBe(2)
      await plant(server, 'org', { 'users/solo': { name: 'Solo again', groups: { alpha: true } } })
      await page.locator('[data-user=solo] h2', { hasText: 'Solo again' }).waitFor()
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
