import { expect, test } from 'vitest'
import { keyOf, type Msg, Msgy, type MsgyData, timeNow } from '../../models/msgy.js'
import { goOffline, goOnline } from '../../src/index.js'
import { calls, denied, models } from './scene.js'

const scene = models()

const accounts = { joeuser: 'uid-joe', marleenmgr: 'uid-marleen', annops: 'uid-ann' }

async function mails() {
  const msgy = await scene('msgy')
  const as = (name: keyof typeof accounts) => new Msgy(msgy.as<MsgyData>(accounts[name]), name)
  const account = (uid: string) => new Msgy(msgy.as<MsgyData>(uid), 'new_name')
  return { ...msgy, joe: as('joeuser'), marleen: as('marleenmgr'), ann: as('annops'), account }
}

const texts = (list: Msg[]) => list.map(({ text }) => text)

test('keys can be computed, and times do not repeat', () => {
  expect(keyOf('marleenmgr', '2014-03-06T02:05:13.223556Z')).toBe('marleenmgr_2014-03-06T02:05:13,223556Z')
  const times = Array.from({ length: 100 }, timeNow)
  expect(new Set(times).size).toBe(100)
  expect(times[0]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
})

test('a name belongs to whoever took it first', async () => {
  const { account, check } = await mails()
  const uids = ['uid-one', 'uid-two']
  const user = (uid: string) => ({
    user_name: 'new_name',
    full_name: uid,
    email: 'new@example.com',
    uid
  })
  const [one, two] = uids.map(account) as [Msgy, Msgy]
  const taken = await Promise.all([one.saveUser(user('uid-one')), two.saveUser(user('uid-two'))])
  expect([...taken].sort()).toEqual([false, true])
  const winner = taken[0] ? 'uid-one' : 'uid-two'
  expect(await account(winner).saveUser(user(winner))).toBe(true)
  expect((await two.user('new_name'))!.uid).toBe(winner)
  const bad = { ...user('uid-three'), user_name: 'Bad-Name' }
  await expect(account('uid-three').saveUser(bad)).rejects.toMatchObject(denied)
  await check()
})

test('a message is in all its timelines, however often it is sent', async () => {
  const { joe, marleen, ann, check } = await mails()
  const created = '2014-03-06T10:00:00.000002Z'
  const key = await joe.postMessage('marleenmgr', 'hello', created)
  expect(await joe.postMessage('marleenmgr', 'hello', created)).toBe(key)
  await expect(joe.postMessage('marleenmgr', 'something else', created)).rejects.toMatchObject(denied)
  expect(key).toBe('joeuser_2014-03-06T10:00:00,000002Z')
  expect(await marleen.message(key)).toMatchObject({ sender: 'joeuser', day: '2014-03-06Z', text: 'hello' })
  await expect(ann.message(key)).rejects.toMatchObject(denied)
  await expect(joe.postMessage('nobody_here', 'x')).rejects.toMatchObject(denied)
  await check()
  expect(texts(await joe.timeline('Sent', '2014-03-06Z'))).toContain('hello')
  expect(texts(await marleen.timeline('Inbox', '2014-03-06Z'))).toContain('hello')
  expect(await joe.days('Sent')).toContain('2014-03-06Z')
})

test('groups have an inbox', async () => {
  const { joe, marleen, ann, check } = await mails()
  await joe.postMessage('marketing_group', 'to all', '2014-03-07T10:00:00.000001Z')
  expect(texts(await marleen.timeline('Inbox', '2014-03-07Z', 'marketing_group'))).toEqual(['to all'])
  await expect(ann.postMessage('marketing_group', 'x')).rejects.toMatchObject(denied)
  await expect(ann.timeline('Inbox', '2014-03-07Z', 'marketing_group')).rejects.toMatchObject(denied)
  await check()
})

test('the messages of a day are in the order of their times', async () => {
  const { joe, marleen, ann } = await mails()
  const at = (hour: number) => `2014-03-09T0${hour}:00:00.000001Z`
  await ann.postMessage('marleenmgr', 'second', at(2))
  await joe.postMessage('marleenmgr', 'third', at(3))
  await joe.postMessage('marleenmgr', 'first', at(1))
  expect(texts(await marleen.timeline('Inbox', '2014-03-09Z'))).toEqual(['first', 'second', 'third'])
})

test('the last ten, over days', async () => {
  const { joe } = await mails()
  for (let i = 0; i < 12; i++) {
    await joe.postMessage('marleenmgr', `text ${i}`, `2014-03-${10 + i}T00:00:00.000000Z`)
  }
  expect(texts(await joe.lastSent())).toEqual(Array.from({ length: 10 }, (_, i) => `text ${i + 2}`))
  expect(texts(await joe.last('Sent', 2))).toEqual(['text 10', 'text 11'])
})

test('an inbox is watched', async () => {
  const { joe, marleen } = await mails()
  const heard = calls<string>()
  const stop = marleen.watchInbox(heard.add)
  await heard.until(1)
  const key = await joe.postMessage('marleenmgr', 'news')
  await heard.until(2)
  expect(heard.all[1]).toBe(key)
  stop()
})

test('a watched inbox has all that comes, whatever time its senders have', async () => {
  const { as, joe, ann } = await mails()
  const db = as<MsgyData>('uid-marleen')
  const heard = calls<string>()
  new Msgy(db, 'marleenmgr').watchInbox(heard.add)
  await heard.until(1)
  const sent: string[] = []
  const post = async (from: Msgy, days: number) => {
    const created = new Date(Date.now() + days * 24 * 60 * 60 * 1000).toISOString().replace('Z', '000Z')
    sent.push(await from.postMessage('marleenmgr', `in ${days} days`, created))
  }
  await post(joe, 0.5)
  await heard.until(2)
  await post(ann, -1000)
  await heard.until(3)
  goOffline(db)
  for (const days of [-30, -20, -10]) await post(ann, days)
  goOnline(db)
  await heard.until(6)
  await post(joe, -40)
  await heard.until(7)
  expect(heard.all.slice(1)).toEqual(sent)
})

test('who cannot read an inbox hears that', async () => {
  const { as } = await mails()
  const ended = calls<string>()
  new Msgy(as<MsgyData>('uid-ann'), 'joeuser').watchInbox(
    () => {},
    error => ended.add(error.message)
  )
  await ended.until(1)
  expect(ended.all[0]).toMatch(/permission_denied/)
})
