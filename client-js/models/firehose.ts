// The stream of all statuses of the social model, and filters for it.

import {
  type Database,
  onChildAdded,
  onChildRemoved,
  orderByChild,
  query,
  ref,
  startAt,
  type Unsubscribe
} from '@dogwood/client'
import { guard, serverTime } from './records.js'
import type { SocialData, Status } from './social-data.js'

/** Decides whether a stream has a status. */
export type Filter = (status: Status) => boolean

/** What a stream tells of a status that is gone. */
export interface Deleted {
  id: number
  deleted: true
}

/**
 * Calls `next` with each status that passes the filter, from a time on, by default from now,
 * and with those of them that are deleted, until the returned function is called. Needs a
 * token with `firehose`: without one, `cancel` hears that.
 */
export function firehose(
  db: Database<SocialData>,
  filter: Filter,
  next: (news: Status | Deleted) => unknown,
  cancel?: (error: Error) => unknown,
  since?: number
): Unsubscribe {
  let stops: Unsubscribe[] = []
  let stopped = false
  const listen = (time: number) => {
    if (stopped) return
    const news = query(ref<Record<string, Status>>(db, 'statuses'), orderByChild('posted'), startAt(time))
    const added = onChildAdded(
      news,
      status => {
        if (!stopped && filter(status.val()!)) next(status.val()!)
      },
      cancel
    )
    const removed = onChildRemoved(news, status => {
      if (!stopped && filter(status.val()!)) next({ id: status.val()!.id, deleted: true })
    })
    stops = [added, removed]
  }
  if (since === undefined) serverTime(db).then(listen, error => guard(() => !stopped && cancel?.(error)))
  else listen(since)
  return () => {
    stopped = true
    for (const stop of stops) stop()
  }
}

/** Statuses that have all words of one of the phrases. */
export function track(...phrases: string[]): Filter {
  const wanted = phrases.map(phrase => phrase.toLowerCase().split(/\s+/).filter(Boolean))
  return ({ message }) => {
    const words = new Set(message.toLowerCase().split(/\s+/))
    return wanted.some(phrase => phrase.length > 0 && phrase.every(word => words.has(word)))
  }
}

/** Statuses by one of the logins, or that mention one as `@login`. */
export function follow(...logins: string[]): Filter {
  const wanted = new Set(logins.map(login => login.toLowerCase().replace(/^@/, '')))
  return ({ login, message }) =>
    wanted.has(login.toLowerCase()) ||
    message.split(/\s+/).some(word => word[0] === '@' && wanted.has(word.slice(1).toLowerCase()))
}

/** Statuses from within a box, in degrees. */
export function within(west: number, south: number, east: number, north: number): Filter {
  return ({ location }) => {
    if (!location) return false
    const [lat, lon] = location.split(',').map(Number) as [number, number]
    return south <= lat && lat <= north && west <= lon && lon <= east
  }
}

/** So many percent of the statuses; always the same ones for the same identifier. */
export function sample(percent = 10, identifier = ''): Filter {
  // A shuffle of 0 to 99 that depends on the identifier alone.
  let seed = 2166136261
  for (const char of identifier) seed = Math.imul(seed ^ char.codePointAt(0)!, 16777619) >>> 0
  const residues = Array.from({ length: 100 }, (_, i) => i)
  for (let i = 99; i > 0; i--) {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
    const j = Math.floor((seed / 2 ** 32) * (i + 1))
    ;[residues[i], residues[j]] = [residues[j]!, residues[i]!]
  }
  const chosen = new Set(residues.slice(0, Math.max(1, Math.floor(percent))))
  return ({ id }) => chosen.has(id % 100)
}
