import { expect, test, vi } from 'vitest'
import type { Keyed } from '../../models/records.js'
import {
  type Deleted,
  type Filter,
  firehose,
  follow,
  loginFree,
  nextUserId,
  Social,
  type SocialData,
  type Status,
  sample,
  track,
  within
} from '../../models/social.js'
import { deleteDatabase, goOffline, goOnline, onChildAdded, onValue, ref } from '../../src/index.js'
import { calls, denied, models, thrownBy } from './scene.js'
import { parsed } from './steps.js'

const scene = models()

/** Posts at once: each has to be tried again for those that were faster. */
const AT_ONCE = process.env.DOGWOOD_TIER === 'long' ? 30 : 12

async function network(declared = false) {
  const social = await scene('social', declared)
  const as = (uid: string) => new Social(social.as<SocialData>(uid), uid, { declared })
  return { ...social, u1: as('u1'), u2: as('u2'), u3: as('u3'), u4: as('u4'), user: as }
}

const keys = (statuses: Keyed<Status>[]) => statuses.map(({ key }) => key)

test.each([false, true])('a login is taken once, in whatever case, declared: %s', async declared => {
  const { as, user, check } = await network(declared)
  const db = as<SocialData>('nobody-yet')
  expect(await loginFree(db, 'NewComer')).toBe(true)
  const ids = await Promise.all([nextUserId(db), nextUserId(as<SocialData>('other'))])
  expect(ids.sort()).toEqual([5, 6])
  await user('u5').createUser('NewComer', 'New Comer')
  expect(await loginFree(db, 'newCOMER')).toBe(false)
  await expect(user('u6').createUser('NEWCOMER', 'Second')).rejects.toMatchObject(
    declared ? { code: 'CONFLICT' } : denied
  )
  await user('u6').createUser('sixth', 'Six')
  expect(await user('u5').user('u6')).toMatchObject({ login: 'sixth', id: 6, followers: 0 })
  await check()
})

test.each([false, true])('a status comes into the homes of all followers, declared: %s', async declared => {
  const { u1, u2, u3, u4, check } = await network(declared)
  const sid = await u1.postStatus('fan-out in one write')
  expect(sid).toBe('s5')
  expect((await u1.user())!.posts).toBe(3)
  for (const reader of [u1, u2, u3]) expect(keys((await reader.homeTimeline()).statuses)[0]).toBe('s5')
  expect((await u4.homeTimeline()).statuses).toEqual([])
  await check()
  await u1.deleteStatus(sid)
  expect(keys((await u2.homeTimeline()).statuses)).toEqual(['s3', 's2', 's1'])
  await expect(u2.deleteStatus('s3')).rejects.toMatchObject(denied)
  expect(await u1.postStatus('no id comes back')).toBe('s6')
  await check()
})

test.each([false, true])(
  'who loses the race for a number tries the next one, declared: %s',
  async declared => {
    const { u1, u2, u3, check } = await network(declared)
    const sids = await Promise.all([u1.postStatus('one'), u2.postStatus('two'), u3.postStatus('three')])
    expect(sids.sort()).toEqual(['s5', 's6', 's7'])
    await check()
  }
)

test.each([false, true])(
  'many posts of one user at once are all made, once, and sent, declared: %s',
  async declared => {
    const { u1, u2, admin, check } = await network(declared)
    const messages = Array.from({ length: AT_ONCE }, (_, i) => `post ${i}`)
    const sids = await Promise.all(messages.map(message => u1.postStatus(message)))
    const statuses: Record<string, Status> = await admin('GET', '/statuses')
    expect(sids.map(sid => statuses[sid]!.message)).toEqual(messages)
    expect((await u1.user())!.posts).toBe(2 + messages.length)
    expect(keys((await u2.homeTimeline(undefined, AT_ONCE)).statuses).sort()).toEqual(sids.sort())
    expect(await admin('GET', '/fanout')).toBe(null)
    await check()
  }
)

test('a status reaches more followers than fit into one write', async () => {
  const { u1, as, admin, check } = await network()
  const followers = Object.fromEntries(
    Array.from({ length: 2100 }, (_, i) => [`u${100 + i}`, 1699999985000 + (i >> 3)])
  )
  const update: Record<string, unknown> = { 'users/u1/followers': 2102, 'counters/userId': 3000 }
  for (const [uid, time] of Object.entries(followers)) {
    update[`followers/u1/${uid}`] = time
    update[`following/${uid}/u1`] = time
    update[`logins/l${uid}`] = uid
    update[`users/${uid}`] = {
      ...{ login: `l${uid}`, id: Number(uid.slice(1)), name: uid, signup: 1 },
      ...{ followers: 0, following: 1, posts: 0, lastEdge: 'u1' }
    }
  }
  await admin('PATCH', '/', update)
  await check()
  // The author's client ends as soon as the status is there, long before all have it.
  const killed = as<SocialData>('u1')
  const status = ref(as<SocialData>('u2'), 'statuses/s5')
  await new Promise<void>(listening => {
    onValue(status, shown => (shown.exists() ? deleteDatabase(killed) : listening()))
  })
  const lost = new Social(killed, 'u1').postStatus('to thousands')
  await expect(lost).rejects.toThrow() // the client has ended
  await u1.resume()
  expect(await u1.resume()).toEqual([])
  const sid = 's5'
  const home = await admin('GET', '/home')
  const missing = Object.keys(followers).filter(uid => home[uid]?.[sid] === undefined)
  expect(missing).toEqual([])
  await check()
})

test.each([false, true])(
  'following and leaving keep lists, counters and homes together, declared: %s',
  async declared => {
    const { u1, u4, check } = await network(declared)
    await u4.follow('u1')
    expect(keys((await u4.homeTimeline()).statuses)).toEqual(['s3', 's1'])
    expect([(await u4.user())!.following, (await u1.user())!.followers]).toEqual([1, 3])
    await expect(u4.follow('u1')).rejects.toMatchObject(denied)
    await expect(u4.follow('u4')).rejects.toMatchObject(denied)
    await check()
    await u4.unfollow('u1')
    expect((await u4.homeTimeline()).statuses).toEqual([])
    await expect(u4.unfollow('u1')).rejects.toMatchObject(denied)
    await check()
  }
)

test.each([false, true])('who follows while a status is sent has it, too, declared: %s', async declared => {
  const { u1, u4, check } = await network(declared)
  // The status is posted, and sent to all followers, when u4 has read what there was.
  const look = vi.spyOn(u4 as unknown as { newestOf(uid: string): Promise<unknown> }, 'newestOf')
  const newestOf = look.getMockImplementation() ?? Social.prototype['newestOf' as never]
  look.mockImplementationOnce(async uid => {
    const newest = await Reflect.apply(newestOf, u4, [uid])
    await u1.postStatus('in between')
    return newest
  })
  await u4.follow('u1')
  expect(keys((await u4.homeTimeline()).statuses)).toEqual(['s5', 's3', 's1'])
  await check()
})

test('a home has a thousand entries after every write, declared', async () => {
  const { u1, as, admin } = await network(true)
  const old = Array.from({ length: 1000 }, (_, i) => [`old${i}`, 1600000000000 + i])
  await admin('PUT', '/home/u2', Object.fromEntries(old))
  const heard = calls<number>()
  onValue(ref(as<SocialData>('u2'), 'home/u2'), home => heard.add(home.size))
  await heard.until(1)
  const sid = await u1.postStatus('for the newest place')
  await heard.until(2)
  expect(heard.all).toEqual([1000, 1000])
  const home = await admin('GET', '/home/u2')
  expect([sid in home, 'old0' in home, 'old1' in home]).toEqual([true, false, true])
})

test('timelines have pages, and homes a bound', async () => {
  const { u1, u2 } = await network()
  for (let i = 0; i < 5; i++) await u1.postStatus(`status ${i}`)
  const first = await u2.profileTimeline('u1', undefined, 3)
  expect(keys(first.statuses)).toEqual(['s9', 's8', 's7'])
  const second = await u2.profileTimeline('u1', first.next, 3)
  expect(keys(second.statuses)).toEqual(['s6', 's5', 's3'])
  const third = await u2.profileTimeline('u1', second.next, 3)
  expect([keys(third.statuses), third.next]).toEqual([['s1'], undefined])
  await u2.trimHome(4)
  expect(keys((await u2.homeTimeline()).statuses)).toEqual(['s9', 's8', 's7', 's6'])
})

test('the statuses of one user are streamed', async () => {
  const { u1, u2 } = await network()
  const heard = calls<Keyed<Status>>()
  const stop = u2.stream('u1', heard.add)
  await heard.until(1)
  const sid = await u1.postStatus('news')
  await heard.until(2)
  await u1.deleteStatus(sid) // the older one is the newest again, and no news
  await u1.postStatus('more news')
  await heard.until(3)
  expect(keys(heard.all)).toEqual(['s3', 's5', 's6'])
  stop()
})

test('a stream has all statuses, in their order, also those of a time offline', async () => {
  const { u1, as } = await network()
  const db = as<SocialData>('u2')
  const heard = calls<Keyed<Status>>()
  const stop = new Social(db, 'u2').stream('u1', heard.add)
  await heard.until(1)
  for (let i = 0; i < 5; i++) await u1.postStatus(`quick ${i}`)
  await heard.until(6)
  goOffline(db)
  for (let i = 0; i < 60; i++) await u1.postStatus(`missed ${i}`)
  goOnline(db)
  await heard.until(66)
  await u1.postStatus('end')
  await heard.until(67)
  const sids = ['s3', ...Array.from({ length: 66 }, (_, i) => `s${i + 5}`)]
  expect(keys(heard.all).sort()).toEqual(sids.sort())
  const times = heard.all.map(({ posted }) => posted)
  expect(times).toEqual([...times].sort((a, b) => a - b))
  stop()
})

test('a stream that is stopped tells nothing, and one that ends says so once', async () => {
  const { u1, as } = await network()
  const db = as<SocialData>('u2')
  const u2 = new Social(db, 'u2')
  const [heard, ended, other] = [calls<Status>(), calls<string>(), calls<Status>()]
  const thrown = await thrownBy(async () => {
    const stop = u2.stream('u1', heard.add, error => ended.add(error.message))
    // It is stopped when it knows what to read, and before the answer.
    const listed = calls<string | null>()
    onChildAdded(ref(db, 'profile/u1'), ({ key }) => {
      listed.add(key)
      stop()
    })
    await listed.until(2)
    u2.stream(
      'u1',
      status => {
        other.add(status)
        throw new Error('next')
      },
      error => ended.add(error.message)
    )
    await other.until(1)
    await u1.postStatus('more')
    await other.until(2)
    deleteDatabase(db)
    await ended.until(1)
  })
  expect(heard.all).toEqual([])
  expect(other.all).toHaveLength(2)
  expect(ended.all).toHaveLength(1)
  expect(thrown).toEqual(['uncaughtException: next', 'uncaughtException: next'])
})

test('the firehose begins at the time of the server, and is refused without its token', async () => {
  const { as, u1 } = await network()
  const { now } = Date
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => now() + 3_600_000) // of this client
  const feed = as<SocialData>({ uid: 'svc-feed', token: { firehose: true } })
  const heard = calls<Status | Deleted>()
  const ended = calls<string>()
  const stop = firehose(feed, () => true, heard.add)
  firehose(
    as<SocialData>('u2'),
    () => true,
    heard.add,
    error => ended.add(error.message)
  )
  await ended.until(1)
  for (let i = 0; !heard.all.length; i++) await u1.postStatus(`status ${i}`)
  expect(heard.all[0]).toMatchObject({ uid: 'u1', message: expect.stringMatching(/^status/) })
  expect(ended.all).toEqual([expect.stringMatching(/permission_denied/)])
  stop()
  clock.mockRestore()
})

test('the firehose tells what passes a filter, and what of it is deleted', async () => {
  const { as, u1, u3 } = await network()
  const feed = as<SocialData>({ uid: 'svc-feed', token: { firehose: true } })
  const heard = calls<Status | Deleted>()
  const stop = firehose(feed, track('redis'), heard.add, undefined, 0)
  await heard.until(1)
  await u3.postStatus('trees')
  const sid = await u1.postStatus('Redis again')
  await heard.until(2)
  await u1.deleteStatus(sid)
  await heard.until(3)
  stop()
  expect(heard.all.map(news => ('deleted' in news ? news : news.message))).toEqual([
    'posting about redis and trees',
    'Redis again',
    { id: 6, deleted: true }
  ])
})

test('a firehose that was stopped tells nothing more, also of what has come already', async () => {
  const { as } = await network()
  const feed = as<SocialData>({ uid: 'svc-feed', token: { firehose: true } })
  const heard = calls<Status | Deleted>()
  const next = (news: Status | Deleted) => {
    heard.add(news)
    stop()
  }
  const stop = firehose(feed, () => true, next, undefined, 0)
  await heard.until(1)
  expect(heard.all).toHaveLength(1)
})

const makers: Record<string, (...args: any) => Filter> = {
  track: (phrases: string[]) => track(...phrases),
  follow: (logins: string[]) => follow(...logins),
  location: ([west, south, east, north]: [number, number, number, number]) =>
    within(west, south, east, north),
  sample: ({ percent, identifier }: { percent: number; identifier: string }) => sample(percent, identifier)
}

for (const { id, filter, expectKeys, deleted, expectEvent } of parsed('social', 'ops').beyondCases) {
  test(`filters: ${id}`, () => {
    const { statuses } = parsed('social', 'data') as SocialData
    const [[name, args]] = Object.entries(filter) as [[string, any]]
    const passes = makers[name]!(args)
    if (deleted) expect(passes(statuses[deleted]!)).toBe(expectEvent !== null)
    else expect(Object.keys(statuses).filter(sid => passes(statuses[sid]!))).toEqual(expectKeys)
  })
}

test('a sample has its share, and is the same for the same identifier', () => {
  const statuses = Array.from({ length: 1000 }, (_, id) => ({ id }) as Status)
  const chosen = (percent: number, identifier: string) =>
    statuses.filter(sample(percent, identifier)).map(s => s.id)
  expect(chosen(10, 'a')).toHaveLength(100)
  expect(chosen(0, 'a')).toHaveLength(10) // at least one percent
  expect(chosen(10, 'a')).toEqual(chosen(10, 'a'))
  expect(chosen(10, 'a')).not.toEqual(chosen(10, 'b'))
})
