import { goOffline, goOnline } from '@dogwood/client'
import { IDBFactory } from 'fake-indexeddb'
import { expect, test } from 'vitest'
import { Chat, type ChatData, type Message } from '../../models/chat.js'
import type { Keyed } from '../../models/records.js'
import type { Core } from '../../src/core/core.js'
import { enablePersistence } from '../../src/persistence.js'
import { calls, denied, models, thrownBy } from './scene.js'

const scene = models()

async function chats(declared = false) {
  const chat = await scene('chat', declared)
  const as = (user: string) => new Chat(chat.as<ChatData>(user), user, { declared })
  return { ...chat, mchen: as('mchen'), brinchen: as('brinchen'), hmadi: as('hmadi'), newbie: as('newbie') }
}

const names = (rooms: { key: string }[]) => rooms.map(({ key }) => key)
const texts = (messages: Message[]) => messages.map(({ message }) => message)

test.each([false, true])('rooms: the public ones, and one’s own, declared: %s', async declared => {
  const { mchen, brinchen } = await chats(declared)
  expect(names(await mchen.publicRooms())).toEqual(['three', 'two'])
  expect(names(await mchen.ownRooms())).toEqual(['one', 'three'])
  expect(await mchen.room('one')).toMatchObject({ name: 'room alpha', owner: 'mchen' })
  expect(await mchen.isMember('one')).toBe(true)
  expect(await mchen.isMember('one', 'brinchen')).toBe(false)
  expect(await mchen.members('one')).toEqual(['hmadi', 'mchen'])
  await expect(brinchen.members('one')).rejects.toMatchObject(denied)
})

test.each([false, true])(
  'rooms are made, joined, left and deleted, with both sides of each membership, declared: %s',
  async declared => {
    const { mchen, brinchen, hmadi, newbie, check, admin } = await chats(declared)
    await newbie.setName('New Bie')
    await mchen.createRoom('four', 'room delta', 'private')
    await check()
    await expect(newbie.joinRoom('four')).rejects.toMatchObject(denied) // private
    await mchen.addMember('four', 'newbie') // by the owner's hand
    await brinchen.joinRoom('two').catch(() => {}) // is there already
    await newbie.joinRoom('two')
    expect(names(await newbie.ownRooms())).toEqual(['four', 'two'])
    await check()
    await newbie.leaveRoom('two')
    await expect(mchen.leaveRoom('four')).rejects.toMatchObject(denied) // the owner
    await expect(hmadi.deleteRoom('one')).rejects.toMatchObject(denied) // not the owner
    await mchen.deleteRoom('four')
    await mchen.deleteRoom('one') // with messages
    await check()
    expect(await admin('GET', '/messages/one')).toBe(null)
    expect(await admin('GET', '/users/newbie')).toEqual({ name: 'New Bie' })
  }
)

test.each([false, true])('a room is deleted though others keep joining, declared: %s', async declared => {
  const { hmadi, mchen, newbie, check, admin } = await chats(declared)
  await newbie.setName('New Bie')
  const joins = [newbie.joinRoom('two'), mchen.joinRoom('two')].map(join => join.catch(() => {}))
  await hmadi.deleteRoom('two')
  await Promise.all(joins)
  await check()
  expect(await admin('GET', '/rooms/two')).toBe(null)
})

test('messages: pages, and a tail that tells each once', async () => {
  const { mchen, hmadi, brinchen, check } = await chats()
  const heard = calls<Keyed<Message>>()
  hmadi.tail('one', heard.add, undefined, 3)
  await heard.until(3)
  const keys: string[] = []
  for (const text of ['six', 'seven', 'eight']) keys.push(await mchen.postMessage('one', text))
  await mchen.deleteMessage('one', keys[1]!) // which brings an old one back into the window
  keys.push(await hmadi.postMessage('one', 'nine'))
  await heard.until(7)
  expect(texts(heard.all)).toEqual([
    'shall we ship today?',
    'after the tests pass',
    'ok',
    'six',
    'seven',
    'eight',
    'nine'
  ])
  expect(heard.all[3]).toMatchObject({ key: keys[0], sender: 'mchen', sent: expect.any(Number) })

  const newest = await mchen.newest('one', 3)
  expect(texts(newest)).toEqual(['six', 'eight', 'nine'])
  const older = await mchen.older('one', newest[0]!.key, 3)
  expect(texts(older)).toEqual(['shall we ship today?', 'after the tests pass', 'ok'])
  expect(texts(await mchen.older('one', older[0]!.key, 3))).toEqual(['foo', 'bar'])
  await expect(brinchen.newest('one')).rejects.toMatchObject(denied)
  await expect(brinchen.postMessage('one', 'x')).rejects.toMatchObject(denied)
  await expect(hmadi.deleteMessage('one', keys[0]!)).rejects.toMatchObject(denied)
  await check()
})

test('the owner of a room deletes what those have posted who are no longer in it', async () => {
  const { mchen, hmadi } = await chats()
  const key = await hmadi.postMessage('one', 'nonsense')
  await expect(mchen.deleteMessage('one', key)).rejects.toMatchObject(denied)
  await mchen.removeMember('one', 'hmadi')
  await expect(hmadi.deleteMessage('one', key)).rejects.toMatchObject(denied)
  await mchen.deleteMessage('one', key)
  expect(texts(await mchen.newest('one', 1))).toEqual(['ok'])
})

// A reader who follows room one, and a writer.
async function followed(count: number) {
  const chat = await scene('chat')
  const db = chat.as<ChatData>('hmadi')
  const mchen = new Chat(chat.as<ChatData>('mchen'), 'mchen')
  const hmadi = new Chat(db, 'hmadi')
  const heard = calls<Keyed<Message>>()
  hmadi.tail('one', heard.add, undefined, count)
  await heard.until(count)
  return {
    ...{ db, mchen, hmadi, heard },
    /** Posts messages that are numbered. */
    async post(from: number, to: number) {
      for (let n = from; n <= to; n++) await mchen.postMessage('one', `${n}`)
    },
    /** A message whose key was made before. */
    late: (key: string) => {
      const message = { sender: 'mchen', message: key, sent: { '.sv': 'timestamp' } }
      return chat.admin('PUT', `/messages/one/${key}`, message)
    },
    /** What was told after the first ones, and then nothing else until the end. */
    async toldUntil(total: number) {
      await heard.until(count + total)
      await mchen.postMessage('one', 'end')
      await heard.until(count + total + 1)
      const all = texts(heard.all.slice(count))
      expect(all.pop()).toBe('end')
      return all
    }
  }
}

const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => `${from + i}`)

test('a tail misses nothing that comes late or while it is offline', async () => {
  const { db, post, late, heard, toldUntil } = await followed(2)
  await post(1, 5)
  await late('-A') // lower than all keys of the data
  await heard.until(2 + 6)
  await late('9') // the database orders these as numbers
  await late('10')
  await heard.until(2 + 8)
  goOffline(db)
  await post(11, 20)
  await late('-B')
  await late('8')
  goOnline(db)
  const told = await toldUntil(20)
  expect(told.sort()).toEqual([...numbers(1, 5), '-A', '9', '10', ...numbers(11, 20), '-B', '8'].sort())
})

test.for([
  [1, 1],
  [1, 5],
  [3, 2],
  [3, 70]
] as const)('a tail of %d with %d own messages that wait misses nothing', async ([count, own]) => {
  const { db, hmadi, post, heard, toldUntil } = await followed(count)
  goOffline(db)
  await post(1, 5)
  const posts = numbers(1, own).map(n => hmadi.postMessage('one', `own ${n}`))
  await heard.until(count + own) // at once, though it is offline
  goOnline(db)
  await Promise.all(posts)
  const told = await toldUntil(own + 5)
  expect(told.sort()).toEqual([...numbers(1, 5), ...numbers(1, own).map(n => `own ${n}`)].sort())
})

test.for(['mchen', 'hmadi'] as const)('a tail tells all that %s posts, and keeps little', async poster => {
  const scene = await followed(2)
  for (let n = 1; n <= 200; n++) {
    await scene[poster].postMessage('one', `${n}`)
    await scene.heard.until(2 + n)
  }
  expect(await scene.toldUntil(200)).toEqual(numbers(1, 200))
  const views = [...(scene.db.store as Core).connection.listens.values()].flatMap(views => [
    ...views.values()
  ])
  const kept = views.map(view => view.cached().node.kids.length)
  expect(Math.max(...kept)).toBeLessThanOrEqual(110)
})

test('a tail goes on from what is on disk, also if it starts offline', async () => {
  const chat = await scene('chat')
  const mchen = new Chat(chat.as<ChatData>('mchen'), 'mchen')
  const disk = new IDBFactory()
  const start = async (online: boolean) => {
    const db = chat.as<ChatData>('hmadi')
    if (!online) goOffline(db)
    const persistence = await enablePersistence(db, { indexedDB: disk, shareConnection: false })
    const hmadi = new Chat(db, 'hmadi')
    const heard = calls<Message>()
    const stop = hmadi.tail('one', heard.add, undefined, 3)
    return { db, persistence, hmadi, heard, stop }
  }
  const before = await start(true)
  await before.heard.until(3)
  before.stop()
  await before.persistence.stop()
  for (const text of numbers(1, 10)) await mchen.postMessage('one', text)
  const { db, persistence, hmadi, heard } = await start(false)
  await heard.until(3)
  const own = numbers(1, 5).map(n => hmadi.postMessage('one', `own ${n}`))
  await heard.until(8)
  goOnline(db)
  await Promise.all(own)
  await mchen.postMessage('one', 'end')
  await heard.until(3 + 5 + 10 + 1)
  const first = ['shall we ship today?', 'after the tests pass', 'ok']
  const others = [...numbers(1, 10), ...numbers(1, 5).map(n => `own ${n}`), 'end']
  expect(texts(heard.all).sort()).toEqual([...first, ...others].sort())
  await persistence.stop()
})

test('what a listener of a tail throws is reported, and ends nothing', async () => {
  const { mchen, hmadi } = await chats()
  const heard = calls<string>()
  const thrown = await thrownBy(async () => {
    const next = ({ message }: Message) => {
      heard.add(message)
      throw new Error(message)
    }
    const cancel = ({ message }: Error) => {
      heard.add(message)
      throw new Error('cancel')
    }
    hmadi.tail('one', next, cancel, 2)
    await heard.until(2)
    await mchen.postMessage('one', 'more')
    await heard.until(3)
    await mchen.removeMember('one', 'hmadi')
    await heard.until(4)
  })
  expect(heard.all.slice(0, 3)).toEqual(['after the tests pass', 'ok', 'more'])
  expect(heard.all[3]).toMatch(/permission_denied/)
  const texts = ['after the tests pass', 'ok', 'more', 'cancel']
  expect(thrown).toEqual(texts.map(text => `uncaughtException: ${text}`))
})

test('a tail that is stopped tells nothing more', async () => {
  const { mchen, hmadi } = await chats()
  const [stopped, other] = [calls<Message>(), calls<Message>()]
  const stop = hmadi.tail('one', stopped.add, stopped.add as () => void, 1)
  const stopAtOnce = hmadi.tail('one', stopped.add, stopped.add as () => void, 2)
  stopAtOnce()
  await stopped.until(1)
  const stopThere = hmadi.tail('one', message => {
    other.add(message)
    stopThere()
  })
  stop()
  await mchen.postMessage('one', 'more')
  hmadi.tail('one', other.add, undefined, 1)
  await other.until(2)
  expect(texts(stopped.all)).toEqual(['ok'])
  expect(texts(other.all)).toEqual(['foo', 'more'])
})

test('a tail of a room of others is cancelled once', async () => {
  const { brinchen } = await chats()
  const ended = calls<{ code: string }>()
  const thrown = await thrownBy(async () => {
    brinchen.tail(
      'one',
      () => {},
      error => ended.add(error as Error & { code: string })
    )
    await ended.until(1)
    await expect(brinchen.newest('one')).rejects.toMatchObject(denied) // behind both answers
  })
  expect(ended.all).toHaveLength(1)
  expect(thrown).toEqual([])
})

test('who is sent out of a room hears that the tail has ended', async () => {
  const { mchen, hmadi } = await chats()
  const heard = calls<Message>()
  const ended = calls<string>()
  hmadi.tail('one', heard.add, error => ended.add(error.message), 1)
  await heard.until(1)
  await mchen.removeMember('one', 'hmadi')
  await ended.until(1)
  expect(ended.all[0]).toMatch(/permission_denied/)
})
