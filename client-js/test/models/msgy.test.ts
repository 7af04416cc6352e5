import { expect, test } from 'vitest'
import { keyOf, Mail, type Msg, type MsgyData, timeNow, Users } from '../../models/msgy.js'
import { calls, denied, models } from './scene.js'

const scene = models()

const accounts = { joeuser: 'uid-joe', marleenmgr: 'uid-marleen', annops: 'uid-ann' }

async function mails() {
  const msgy = await scene('msgy')
  const as = (name: keyof typeof accounts) => new Mail(msgy.as<MsgyData>(accounts[name]), name)
  const users = (uid: string) => new Users(msgy.as<MsgyData>(uid), uid)
  return { ...msgy, joe: as('joeuser'), marleen: as('marleenmgr'), ann: as('annops'), users }
}

const texts = (list: Msg[]) => list.map(({ text }) => text)

test('keys can be computed, and times do not repeat', () => {
  expect(keyOf('marleenmgr', '2014-03-06T02:05:13.223556Z')).toBe('marleenmgr_2014-03-06T02:05:13,223556Z')
  const times = Array.from({ length: 100 }, timeNow)
  expect(new Set(times).size).toBe(100)
  expect(times[0]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
})

test('a name belongs to whoever took it first', async () => {
  const { users, check } = await mails()
  const [one, two] = [users('uid-one'), users('uid-two')]
  const user = (full_name: string) => ({ user_name: 'new_name', full_name, email: 'new@example.com' })
  const taken = await Promise.all([one.save(user('One')), two.save(user('Two'))])
  expect([...taken].sort()).toEqual([false, true])
  const [winner, loser] = taken[0] ? [one, two] : [two, one]
  expect(await winner.save(user('Again'))).toBe(true)
  expect((await loser.get('new_name'))!.uid).toBe(winner.uid)
  expect(await winner.ownName()).toBe('new_name')
  expect(await loser.ownName()).toBe(null)
  await expect(loser.save({ ...user('Bad'), user_name: 'Bad-Name' })).rejects.toMatchObject(denied)
  await check()
})

test('a message is in all its timelines, however often it is sent', async () => {
  const { joe, marleen, ann, check } = await mails()
  const created = '2014-03-06T10:00:00.000002Z'
  const key = await joe.post('marleenmgr', 'hello', created)
  expect(await joe.post('marleenmgr', 'hello', created)).toBe(key)
  await expect(joe.post('marleenmgr', 'something else', created)).rejects.toMatchObject(denied)
  expect(key).toBe('joeuser_2014-03-06T10:00:00,000002Z')
  expect(await marleen.message(key)).toMatchObject({ sender: 'joeuser', day: '2014-03-06Z', text: 'hello' })
  await expect(ann.message(key)).rejects.toMatchObject(denied)
  await expect(joe.post('nobody_here', 'x')).rejects.toMatchObject(denied)
  await check()
  expect(texts(await joe.timeline('Sent', '2014-03-06Z'))).toContain('hello')
  expect(texts(await marleen.timeline('Inbox', '2014-03-06Z'))).toContain('hello')
  expect(await joe.days('Sent')).toContain('2014-03-06Z')
})

test('groups have an inbox', async () => {
  const { joe, marleen, ann, check } = await mails()
  await joe.post('marketing_group', 'to all', '2014-03-07T10:00:00.000001Z')
  expect(texts(await marleen.timeline('Inbox', '2014-03-07Z', 'marketing_group'))).toEqual(['to all'])
  await expect(ann.post('marketing_group', 'x')).rejects.toMatchObject(denied)
  await expect(ann.timeline('Inbox', '2014-03-07Z', 'marketing_group')).rejects.toMatchObject(denied)
  await check()
})

test('the last ten, over days', async () => {
  const { joe } = await mails()
  for (let i = 0; i < 12; i++) {
    await joe.post('marleenmgr', `text ${i}`, `2014-03-${10 + i}T00:00:00.000000Z`)
  }
  expect(texts(await joe.lastSent())).toEqual(Array.from({ length: 10 }, (_, i) => `text ${i + 2}`))
  expect(texts(await joe.last('Sent', 2))).toEqual(['text 10', 'text 11'])
})

test('an inbox is watched', async () => {
  const { joe, marleen } = await mails()
  const heard = calls<string>()
  const stop = marleen.watchInbox(heard.add)
  await heard.until(1)
  const key = await joe.post('marleenmgr', 'news')
  await heard.until(2)
  expect(heard.all[1]).toBe(key)
  stop()
})
