// The writes of the model: each changes all that belongs together, by one update.

import {
  type Database,
  get,
  increment,
  limitToLast,
  orderByValue,
  query,
  ref,
  serverTimestamp,
  update
} from '@dogwood/client'
import { keysOf, numberOf } from '../read.js'

/** What a status is counted by, which another may have taken in the meantime. */
const TRIES = 4

/** Posts a status: to the profile, and to the homes of the author and of all followers. */
export async function post(db: Database, uid: string, message: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    const values = await posting(db, uid, message)
    try {
      return await update(ref(db), values)
    } catch (error) {
      if (tries === TRIES) throw error
    }
  }
}

async function posting(db: Database, uid: string, message: string): Promise<Record<string, unknown>> {
  const read = async (path: string) => (await get(ref(db, path))).val()
  const [last, login, followers] = await Promise.all([
    read('counters/statusId'),
    read(`users/${uid}/login`),
    read(`followers/${uid}`)
  ])
  const id = numberOf(last) + 1
  const now = serverTimestamp()
  const homes = [uid, ...keysOf(followers)].map(who => [`home/${who}/s${id}`, now])
  return {
    'counters/statusId': id,
    [`statuses/s${id}`]: { message, posted: now, id, uid, login },
    [`profile/${uid}/s${id}`]: now,
    [`users/${uid}/posts`]: increment(1),
    [`users/${uid}/lastStatus`]: `s${id}`,
    ...Object.fromEntries(homes)
  }
}

const BEFORE = 10 // of what was posted before comes into the home of a new follower

/** Follows somebody, whose newest statuses come into the own home. */
export async function follow(db: Database, uid: string, other: string): Promise<void> {
  const profile = await get(query(ref(db, `profile/${other}`), orderByValue(), limitToLast(BEFORE)))
  const now = serverTimestamp()
  const values: Record<string, unknown> = {
    ...edge(uid, other, 1),
    [`following/${uid}/${other}`]: now,
    [`followers/${other}/${uid}`]: now
  }
  profile.forEach(status => {
    values[`home/${uid}/${status.key}`] = status.val()
  })
  await update(ref(db), values)
}

/** Follows somebody no more, and takes what came from there out of the own home. */
export async function unfollow(db: Database, uid: string, other: string): Promise<void> {
  const [home, profile] = await Promise.all([get(ref(db, `home/${uid}`)), get(ref(db, `profile/${other}`))])
  const values: Record<string, unknown> = {
    ...edge(uid, other, -1),
    [`following/${uid}/${other}`]: null,
    [`followers/${other}/${uid}`]: null
  }
  for (const id of keysOf(profile.val())) if (home.hasChild(id)) values[`home/${uid}/${id}`] = null
  await update(ref(db), values)
}

const edge = (uid: string, other: string, by: 1 | -1) => ({
  [`users/${uid}/following`]: increment(by),
  [`users/${uid}/lastEdge`]: other,
  [`users/${other}/followers`]: increment(by)
})

/** Deletes a status of one's own. Followers drop what is left in their homes. */
export async function withdraw(db: Database, uid: string, id: string): Promise<void> {
  const followers = (await get(ref(db, `followers/${uid}`))).val()
  const homes = [uid, ...keysOf(followers)].map(who => [`home/${who}/${id}`, null])
  await update(ref(db), {
    [`statuses/${id}`]: null,
    [`profile/${uid}/${id}`]: null,
    [`users/${uid}/posts`]: increment(-1),
    [`users/${uid}/lastStatus`]: id,
    ...Object.fromEntries(homes)
  })
}
