import { describe, expect, test } from 'vitest'
import { type Group, Org, type OrgData } from '../../models/org.js'
import { calls, denied, models } from './scene.js'

const scene = models()

describe.each([false, true])('declared: %s', declared => {
  async function orgs() {
    const org = await scene('org', declared)
    const as = (user: string) => new Org(org.as<OrgData>(user), user, { declared })
    return { ...org, mchen: as('mchen'), brinchen: as('brinchen'), hmadi: as('hmadi'), solo: as('solo'), as }
  }

  test('the groups of a user who may not list groups', async () => {
    const { mchen } = await orgs()
    expect(await mchen.ownGroups()).toEqual(
      new Map([
        ['alpha', 'Alpha Tango'],
        ['charlie', 'Charlie Kilo']
      ])
    )
    expect(await mchen.isMember('alpha')).toBe(true)
    expect(await mchen.isMember('bravo')).toBe(false)
    await expect(mchen.group('bravo')).rejects.toMatchObject(denied)
  })

  test('members are added and removed on both sides', async () => {
    const { mchen, brinchen, hmadi, check } = await orgs()
    await brinchen.addMember('bravo', 'mchen')
    await brinchen.addMember('bravo', 'mchen') // harmless
    expect((await mchen.group('bravo'))!.members).toEqual({ brinchen: true, mchen: true })
    await expect(hmadi.addMember('bravo', 'hmadi')).rejects.toMatchObject(denied)
    await expect(brinchen.addMember('bravo', 'ghost')).rejects.toMatchObject(denied)
    await check()
    await mchen.leave('bravo')
    await mchen.removeMember('alpha', 'hmadi')
    await expect(hmadi.group('alpha')).rejects.toMatchObject(denied)
    await check()
  })

  test('groups and users come and go', async () => {
    const { solo, mchen, as, check, admin } = await orgs()
    const newbie = as('newbie')
    expect(await newbie.signUp('New Bie')).toBe(true)
    expect(await newbie.signUp('Again')).toBe(false)
    await solo.createGroup('delta', 'Delta Blues')
    await solo.addMember('delta', 'newbie')
    await solo.renameGroup('delta', 'Delta Waltz')
    await expect(newbie.renameGroup('delta', 'x')).rejects.toMatchObject(denied)
    await expect(newbie.deleteUser()).rejects.toMatchObject(denied) // is in a group
    await expect(mchen.deleteGroup('delta')).rejects.toMatchObject(denied)
    await check()
    await solo.deleteGroup('delta')
    await newbie.deleteUser()
    expect(await admin('GET', '/groups/delta')).toBe(null)
    await check()
  })

  test('memberships are watched', async () => {
    const { mchen, brinchen, hmadi } = await orgs()
    const seen = calls<ReadonlyMap<string, Group>>()
    const stop = mchen.watchGroups(seen.add)
    const now = () =>
      [...(seen.all.at(-1)?.entries() ?? [])].map(([key, { name }]) => `${key}: ${name}`).sort()
    const become = (...groups: string[]) => expect.poll(now, { timeout: 60_000 }).toEqual(groups)
    await become('alpha: Alpha Tango', 'charlie: Charlie Kilo')
    await brinchen.addMember('bravo', 'mchen')
    await become('alpha: Alpha Tango', 'bravo: Bravo Foxtrot', 'charlie: Charlie Kilo')
    await brinchen.renameGroup('bravo', 'Bravo')
    await become('alpha: Alpha Tango', 'bravo: Bravo', 'charlie: Charlie Kilo')
    await brinchen.removeMember('bravo', 'mchen')
    await become('alpha: Alpha Tango', 'charlie: Charlie Kilo')
    await hmadi.removeMember('charlie', 'mchen')
    await become('alpha: Alpha Tango')
    stop()
  })
})
