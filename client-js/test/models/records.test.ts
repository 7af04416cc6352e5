import { expect, test } from 'vitest'
import { Org, type OrgData } from '../../models/org.js'
import { allJoined } from '../../models/records.js'
import { ref } from '../../src/index.js'
import { models } from './scene.js'

const scene = models()

const numbered = <T>(count: number, of: (i: number) => T): Record<string, T> =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`g${String(i).padStart(5, '0')}`, of(i)]))

test('an index is read in pages, which end anywhere', async () => {
  const { as, admin } = await scene('org')
  const db = as<OrgData>('solo')
  const members = { solo: true }
  await admin('PATCH', '/groups', {
    ...numbered(7, i => ({ name: `Group ${i}`, owner: 'mchen', members })),
    unnamed: { owner: 'mchen', members }
  })
  for (let count = 0; count <= 7; count++) {
    await admin('PUT', '/users/solo/groups', { ...numbered(count, () => true), unnamed: true })
    const names = await allJoined<string>(db, ref(db, 'users/solo/groups'), 'groups/$key/name', 3)
    expect([...names]).toEqual(Object.entries(numbered(count, i => `Group ${i}`)))
  }
})

test('a user may be in more groups than one request finds', async () => {
  const { as, admin } = await scene('org')
  const count = 10_001
  await admin(
    'PUT',
    '/users/solo/groups',
    numbered(count, () => true)
  )
  await admin(
    'PUT',
    '/groups',
    numbered(count, i => ({ name: `Group ${i}`, owner: 'mchen', members: { solo: true } }))
  )
  const names = await new Org(as<OrgData>('solo'), 'solo').ownGroups()
  expect(names.size).toBe(count)
})
