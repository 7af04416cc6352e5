import { goOffline, goOnline } from '@dogwood/client'
import { expect, test } from 'vitest'
import { Chat, type ChatData, type Message } from '../../models/chat.js'
import type { Keyed } from '../../models/records.js'
import { calls, denied, models } from './scene.js'

const scene = models()

async function chats() {
  const chat = await scene('chat')
  const as = (user: string) => new Chat(chat.as<ChatData>(user), user)
  return { ...chat, mchen: as('mchen'), brinchen: as('brinchen'), hmadi: as('hmadi'), newbie: as('newbie') }
}

const names = (rooms: { key: string }[]) => rooms.map(({ key }) => key)
const texts = (messages: Message[]) => messages.map(({ message }) => message)

test('rooms: the public ones, and one’s own', async () => {
  const { mchen, brinchen } = await chats()
  expect(names(await mchen.publicRooms())).toEqual(['three', 'two'])
  expect(names(await mchen.ownRooms())).toEqual(['one', 'three'])
  expect(await mchen.room('one')).toMatchObject({ name: 'room alpha', owner: 'mchen' })
  expect(await mchen.isMember('one')).toBe(true)
  expect(await mchen.isMember('one', 'brinchen')).toBe(false)
  expect(await mchen.members('one')).toEqual(['hmadi', 'mchen'])
  await expect(brinchen.members('one')).rejects.toMatchObject(denied)
})

test('rooms are made, joined, left and deleted, with both sides of each membership', async () => {
  const { mchen, brinchen, hmadi, newbie, check, admin } = await chats()
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
})

test('a room is deleted though others keep joining', async () => {
  const { hmadi, mchen, newbie, check, admin } = await chats()
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

test('a tail misses nothing that comes late or while it is offline', async () => {
  const chat = await scene('chat')
  const db = chat.as<ChatData>('hmadi')
  const mchen = new Chat(chat.as<ChatData>('mchen'), 'mchen')
  const heard = calls<Keyed<Message>>()
  new Chat(db, 'hmadi').tail('one', heard.add, undefined, 3)
  await heard.until(3)
  const late = (key: string) =>
    chat.admin('PUT', `/messages/one/${key}`, { sender: 'mchen', message: key, sent: 1 })
  const last = heard.all[2]!.key
  await mchen.postMessage('one', 'six')
  await late(`${last}-late`) // its key was made before that of the one that came first
  await heard.until(5)
  goOffline(db)
  for (let n = 7; n <= 14; n++) await mchen.postMessage('one', `${n}`)
  await late(`${last}-later`)
  goOnline(db)
  await heard.until(14)
  await mchen.postMessage('one', 'end')
  await heard.until(15)
  const after = ['six', `${last}-late`, `${last}-later`, '7', '8', '9', '10', '11', '12', '13', '14', 'end']
  expect(texts(heard.all.slice(3))).toEqual(after)
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
