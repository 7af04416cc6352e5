import { expect, test } from 'vitest'
import { conversationId, type Group, Im, type ImData, type Placed } from '../../models/im.js'
import { goOffline, goOnline } from '../../src/index.js'
import { calls, denied, models } from './scene.js'

const scene = models()
const [a, b, c, d] = ['a1', 'b2', 'c3', 'd4'].map(end => `u00000000000000${end}`) as [
  string,
  string,
  string,
  string
]

async function messengers(declared = false) {
  const im = await scene('im', declared)
  const as = (uid: string, db = im.as<ImData>(uid)) => new Im(db, uid, { declared })
  // The month in which this test runs, and a day of the one before.
  const now = new Date()
  const month = (offset: number) => Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + offset)
  const name = (time: number) => new Date(time).toISOString().slice(0, 7).replace('-', '')
  const [last, current] = [name(month(-1)), name(month(0))]
  await im.admin('PATCH', '/buckets', {
    [last]: { from: month(-1), to: month(0), tier: 'cold' },
    [current]: { from: month(0), to: month(1), tier: 'hot' }
  })
  return { ...im, client: im.as<ImData>, an: as(a), bo: as(b), chen: as(c), dai: as(d), as, last, current }
}

const texts = (messages: Placed[]) => messages.map(({ text }) => text)

test.each([false, true])('groups are bounded in number, by their owner, declared: %s', async declared => {
  const { an, bo, chen, admin, check } = await messengers(declared)
  expect(await an.ownedGroups()).toEqual(['g0000000000001001'])
  const second = await an.createGroup('Second')
  expect(second).toMatch(/^g[0-9a-f]{16}$/)
  await an.createGroup('Third')
  await expect(an.createGroup('Fourth')).rejects.toMatchObject(denied)
  await check()
  await an.addMember(second, b)
  await an.addMember(second, c, 'admin')
  await expect(bo.deleteGroup(second)).rejects.toMatchObject(denied)
  await expect(an.leaveGroup(second)).rejects.toMatchObject(denied) // the owner
  await bo.leaveGroup(second)
  await an.setRole(second, c, 'member')
  await an.renameGroup(second, 'Two')
  expect(await chen.members(second)).toMatchObject({ [a]: { role: 'owner' }, [c]: { role: 'member' } })
  await expect(chen.renameGroup(second, 'x')).rejects.toMatchObject(denied)
  await an.deleteGroup(second)
  await an.createGroup('Fourth')
  await check()
  const groups: Record<string, Group> = await admin('GET', '/groups')
  expect(Object.values(groups).filter(({ owner }) => owner === a)).toHaveLength(3)
})

test.each([false, true])('groups are asked for only when they have changed, declared: %s', async declared => {
  const { bo, chen } = await messengers(declared)
  const { version, groups } = (await chen.groupsSince(null))!
  expect(groups).toEqual(Object.keys(await chen.groups()))
  expect(await chen.groupsSince(version)).toBe(null)
  await bo.addMember('g0000000000001002', c)
  expect((await chen.groupsSince(version))!.groups).toContain('g0000000000001002')
})

test('two users have one conversation, which they read in pages over months', async () => {
  const { an, bo, chen, admin, last, current, check } = await messengers()
  const id = await an.openConversation(b)
  expect([await bo.openConversation(a), id]).toEqual([id, conversationId(b, a)])
  expect(await chen.openConversation(d)).toBe(conversationId(c, d)) // a new one
  const old = Object.fromEntries([1, 2, 3].map(n => [`-A${n}`, { from: b, text: `old ${n}`, sent: 1 }]))
  await admin('PUT', `/messages/${last}/${id}`, old)
  const sent: { bucket: string; key: string }[] = []
  for (const text of ['one', 'two', 'three']) sent.push(await an.send(id, text))
  expect(sent[0]!.bucket).toBe(current)
  const newest = await bo.page(id, undefined, 4)
  expect(texts(newest)).toEqual(['old 3', 'one', 'two', 'three'])
  expect(texts(await bo.page(id, newest[0], 2))).toEqual(['old 1', 'old 2'])
  expect(texts(await bo.since(id, sent[0]!))).toEqual(['two', 'three'])
  await expect(chen.page(id)).rejects.toMatchObject(denied)
  await expect(an.page(id, undefined, 101)).rejects.toMatchObject(denied) // too many at once
  await check()
})

test('a message is marked as deleted, once, by its sender', async () => {
  const { an, bo, current } = await messengers()
  const id = await an.openConversation(b)
  const seen = calls<Placed>()
  const stop = await bo.watch(id, seen.add)
  const sent = await an.send(id, 'oops')
  await seen.until(1)
  await expect(bo.logicalDelete(id, sent)).rejects.toMatchObject(denied)
  await an.logicalDelete(id, sent)
  // The one who was refused has seen the message changed, and as it was before.
  const deleted = { text: 'oops', bucket: current, deletedAt: expect.any(Number) }
  await expect.poll(() => seen.all.at(-1)).toMatchObject(deleted)
  await expect(an.logicalDelete(id, sent)).rejects.toMatchObject(denied)
  stop()
})

test('what is watched goes on in the next month', async () => {
  const { an, bo, admin, last, current } = await messengers()
  const id = await an.openConversation(b)
  // Until the month ends, which an administrator decides here, it is the last one.
  const now = Date.now()
  const minuteAgo = now - 60_000 // clients know the time of the server only about
  const bucket = (from: number, to: number) => ({ from, to, tier: 'hot' })
  await admin('PATCH', '/buckets', { [last]: bucket(0, now * 2), [current]: null })
  const seen = calls<Placed>()
  const stop = await bo.watch(id, seen.add)
  const sent = await an.send(id, 'last')
  await seen.until(1)
  await admin('PATCH', '/buckets', {
    [last]: bucket(0, minuteAgo),
    [current]: bucket(minuteAgo, now * 2)
  })
  await an.send(id, 'first')
  await seen.until(2)
  expect(seen.all.map(({ bucket, text }) => [bucket, text])).toEqual([
    [last, 'last'],
    [current, 'first']
  ])
  expect(texts(await bo.since(id, sent))).toEqual(['first'])
  await an.send(id, 'second')
  expect(texts(await bo.since(id, sent, 1))).toEqual(['first'])
  stop()
})

test('a watch misses nothing that comes at once or while it is offline', async () => {
  const { an, as, client, admin, current } = await messengers()
  const id = await an.openConversation(b)
  const messages = (from: number, count: number, letter: string) =>
    Object.fromEntries(
      Array.from({ length: count }, (_, i) => {
        const n = String(from + i).padStart(18, '0')
        return [`-${letter}${n}`, { from: a, text: `${letter}${from + i}`, sent: 1 }]
      })
    )
  const place = `/messages/${current}/${id}`
  await admin('PUT', place, messages(0, 150, 'M'))
  const db = client(b)
  const seen = calls<Placed>()
  const stop = await as(b, db).watch(id, seen.add, 3)
  await seen.until(3)
  expect(texts(seen.all)).toEqual(['M147', 'M148', 'M149'])
  await admin('PATCH', place, messages(150, 250, 'M'))
  await seen.until(253)
  goOffline(db)
  await admin('PATCH', place, { ...messages(400, 250, 'M'), ...messages(0, 60, 'z') })
  goOnline(db)
  await seen.until(563)
  await admin('PATCH', place, messages(650, 90, 'M')) // below those with high keys
  await seen.until(653)
  const numbers = Array.from({ length: 593 }, (_, i) => `M${147 + i}`)
  expect(texts(seen.all).filter(text => text[0] === 'M')).toEqual(numbers)
  expect(new Set(texts(seen.all)).size).toBe(653)
  stop()
})

test('a watch that is stopped tells nothing, and one that ends says so once', async () => {
  const { an, as, client, admin, current } = await messengers()
  const id = await an.openConversation(b)
  await admin('PUT', '/buckets/299912', { from: Date.UTC(2999, 11), to: Date.UTC(3000, 0), tier: 'hot' })
  const db = client(b)
  const [stopped, heard, ended] = [calls<Placed>(), calls<Placed>(), calls<string>()]
  const end = (error: Error) => ended.add(error.message)
  const stop = await as(b, db).watch(id, stopped.add, 3, end)
  await as(b, db).watch(id, heard.add, 3, end)
  stop()
  await an.send(id, 'news')
  await heard.until(1)
  await admin('DELETE', `/conversations/${id}`) // so bo may read no month of it
  await ended.until(1)
  await admin('PATCH', `/messages/${current}/${id}/-M0000000000000000_0`, { from: a, text: 'x', sent: 1 })
  await expect(as(b, db).page(id)).rejects.toMatchObject(denied) // all that was told is here
  expect([stopped.all, ended.all.length, texts(heard.all)]).toEqual([[], 1, ['news']])
})

test('friends are asked, and answer once', async () => {
  const { an, bo, chen, admin, check } = await messengers()
  const key = await an.friendRequest(c, 'An here')
  expect(await chen.requests()).toMatchObject([{ key, from: a, text: 'An here', state: 'pending' }])
  await expect(bo.answer(key, 'accepted')).rejects.toMatchObject(denied)
  await chen.answer(key, 'accepted')
  await expect(chen.answer(key, 'declined')).rejects.toMatchObject(denied)
  await expect(an.sentRequests()).rejects.toMatchObject(denied) // the index is off
  await admin('PUT', '/config/optionalIndexes/sentRequests', true)
  const other = await an.friendRequest(d, 'And here')
  expect(await an.sentRequests()).toEqual({ [other]: d })
  await check()
})

test('users sign up', async () => {
  const { as, admin } = await messengers()
  await as('u00000000000000e5').register('Eva')
  expect(await admin('GET', '/users/u00000000000000e5')).toMatchObject({ name: 'Eva' })
})
