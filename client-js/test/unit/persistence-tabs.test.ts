// Several tabs of a browser share one connection.

import { expect, test } from 'vitest'
import * as client from '../../src/index.js'
import { eventually } from '../support/eventually.js'
import { Browser } from '../support/locks.js'
import { seen } from '../support/seen.js'
import { disks, ns, page, server, type Tab } from '../support/tabs.js'
import { unsigned } from '../support/tokens.js'

test('tabs share one connection', async () => {
  const disk = disks()
  const browser = new Browser()
  const one = await page(disk, {}, true, browser)
  const two = await page(disk, {}, true, browser)
  const room = (tab: Tab) => client.ref(tab.db, 'room')
  const first = seen(one.db, room(one))
  const second = seen(two.db, client.query(room(two), client.limitToLast(1)))
  await first.until(null)
  await client.set(room(two), { a: 1, b: 2 })
  await first.until({ a: 1, b: 2 })
  await second.until({ b: 2 })
  await client.set(client.child(room(one), 'c'), 3)
  await second.until({ c: 3 })
  await first.until({ a: 1, b: 2, c: 3 })
  expect(await client.runTransaction(client.child(room(two), 'c'), n => n + 1)).toMatchObject({
    committed: true
  })
  await first.until({ a: 1, b: 2, c: 4 })
})

test('a tab whose lock comes late is not taken for dead', async () => {
  const disk = disks()
  const browser = new Browser()
  const told: string[] = []
  class Channel extends BroadcastChannel {
    override postMessage(message: { kind: string }): void {
      told.push(message.kind)
      super.postMessage(message)
    }
  }
  const one = await page(disk, { BroadcastChannel: Channel }, true, browser)
  await client.set(client.ref(one.db, 'a'), 1)
  const { request } = browser.tab()
  let grant = () => {}
  const granted = new Promise<void>(resolve => {
    grant = resolve
  })
  const late = { request: async (...args: unknown[]) => granted.then(() => request(...args)) }
  const two = await page(disk, { BroadcastChannel: Channel, locks: late as never }, true, browser)
  const written = client.set(client.ref(two.db, 'a'), 2)
  await new Promise<void>(resolve => {
    client.onConnectionState(two.db, state => state === 'connecting' && resolve())
  })
  await client.set(client.ref(one.db, 'b'), 1)
  grant()
  await written
  expect(await server.rest(ns, 'GET', '/')).toEqual({ a: 2, b: 1 })
  expect(told.filter(kind => kind === 'open')).toHaveLength(1)
  expect(told).not.toContain('end')
})

test('when the leading tab goes, another takes over', async () => {
  const disk = disks()
  const browser = new Browser()
  const one = await page(disk, {}, true, browser)
  const two = await page(disk, {}, true, browser)
  const at = (tab: Tab) => client.ref(tab.db, 'a')
  const values = seen(two.db, at(two))
  await client.set(at(one), 1)
  await values.until(1)
  one.crash()
  await client.set(at(two), 2)
  await values.until(2)
  await server.rest(ns, 'PUT', '/a', 3)
  await values.until(3)
})

test('the plans of a tab that is killed are carried out', async () => {
  const disk = disks()
  const browser = new Browser()
  const one = await page(disk, {}, true, browser)
  const two = await page(disk, {}, true, browser)
  const values = seen(one.db, client.ref(one.db, 'online/two'))
  await client.set(client.ref(two.db, 'online/two'), true)
  await client.onDisconnect(client.ref(two.db, 'online/two')).set(false)
  await values.until(true)
  two.crash()
  await values.until(false)
})

test('tabs do not take plans from each other, at the same place or below', async () => {
  const disk = disks()
  const browser = new Browser()
  const one = await page(disk, {}, true, browser)
  const two = await page(disk, {}, true, browser)
  const three = await page(disk, {}, true, browser)
  await server.rest(ns, 'PUT', '/', { online: true, room: { ana: { a: 1, b: 1 } } })
  const plan = (tab: Tab, path: string) => client.onDisconnect(client.ref(tab.db, path))
  for (const tab of [one, two]) await plan(tab, 'online').set(false)
  await plan(two, 'online').cancel()
  await plan(three, 'room/ana').update({ a: 2 })
  await plan(two, 'room/ana/b').set(2)
  await three.persistence.stop()
  await client.set(client.ref(two.db, 'done'), true)
  expect(await server.rest(ns, 'GET', '/')).toEqual({
    done: true,
    online: true,
    room: { ana: { a: 2, b: 1 } }
  })
  two.crash()
  one.crash() // it has the connection
  await eventually(async () =>
    expect(await server.rest(ns, 'GET', '/')).toEqual({
      done: true,
      online: false,
      room: { ana: { a: 2, b: 2 } }
    })
  )
})

test('a tab that has the connection comes back to it from being offline', async () => {
  const disk = disks()
  const browser = new Browser()
  const leader = await page(disk, {}, true, browser)
  await client.set(client.ref(leader.db, 'a'), 1)
  const other = await page(disk, {}, true, browser)
  await client.set(client.ref(other.db, 'a'), 2)
  client.goOffline(leader.db)
  await client.set(client.ref(other.db, 'a'), 3)
  client.goOnline(leader.db)
  await eventually(() => expect(client.connectionState(leader.db)).toBe('connected'))
  await seen(leader.db, client.ref(leader.db, 'a')).until(3)
})

test('no tab writes as the user of another', async () => {
  const disk = disks()
  await server.rest(ns, 'PUT', '/.settings/rules', {
    rules: { notes: { $user: { '.read': 'auth.uid === $user', '.write': 'auth.uid === $user' } } }
  })
  const browser = new Browser()
  const tabs = [await page(disk, {}, true, browser), await page(disk, {}, true, browser)] as const
  const token = (sub: string, iat = 0) => unsigned({ sub, user_id: sub, iat, exp: iat + 3600 })
  const write = (tab: Tab, whose: string) =>
    client.set(client.ref(tab.db, `notes/${whose}`), 1).then(
      () => 'ok',
      ({ code }) => code
    )
  const outcome = async () => {
    const all = tabs.flatMap(tab => ['ana', 'bo'].map(whose => write(tab, whose)))
    return (await Promise.all(all)).map(code => (code === 'ok' ? 1 : code === 'PERMISSION_DENIED' ? 0 : code))
  }
  const [one, other] = tabs
  expect(await outcome()).toEqual([0, 0, 0, 0])
  await client.signInWithToken(one.db, token('ana'))
  expect(await outcome()).toEqual([1, 0, 0, 0])
  await client.signInWithToken(other.db, token('bo'))
  expect(await outcome()).toEqual([1, 0, 0, 1])
  await client.signInWithToken(other.db, token('ana', 1))
  expect(await outcome()).toEqual([1, 0, 1, 0])
  client.signOut(one.db)
  expect(await outcome()).toEqual([0, 0, 1, 0])
  client.signOut(other.db)
  expect(await outcome()).toEqual([0, 0, 0, 0])
})
