// The few questions that the page asks over HTTP: shallow listings, which the realtime
// protocol does not have, and counts.

import { tokenOf } from './client.js'
import { namespace, type Person } from './model.js'

/** The first keys below a path and how many there are, or the value itself if there are none. */
export type Shallow =
  | { readonly keys: readonly string[]; readonly count: number }
  | { readonly value: unknown }

/**
 * Lists at most `limit` keys of a path, whatever lies below them. Throws an Error with the
 * server's text if it is refused.
 */
export async function shallow(person: Person, path: string, limit: number): Promise<Shallow> {
  const value = await fetchJSON(person, path, { shallow: 'true', limitToFirst: String(limit) })
  if (typeof value !== 'object' || value === null) return { value }
  const keys = Object.keys(value).sort(compareKeys)
  const count = keys.length < limit ? keys.length : await fetchJSON(person, path, { count: 'true' })
  return { keys, count }
}

/** Reads a path, by default with `shallow=true`, as it is answered. */
export async function fetchJSON(
  person: Person,
  path: string,
  form: Record<string, string> = { shallow: 'true' }
): Promise<any> {
  const query = new URLSearchParams({ ns: namespace, ...form })
  const token = tokenOf(person)
  const headers: HeadersInit = person.owner ? { authorization: `Bearer ${token}` } : {}
  if (token && !person.owner) query.set('auth', token)
  const place = path.split('/').filter(Boolean).map(encodeURIComponent).join('/')
  const response = await fetch(`/${place}.json?${query}`, { headers })
  const body = await response.json()
  if (response.status === 401 || response.status === 403) throw new RefusedError(body?.detail ?? body?.error)
  if (!response.ok) throw new Error(body?.error ?? response.statusText)
  return body
}

/** What a refused request rejects with. */
export class RefusedError extends Error {}

/** 32-bit integers first, by number, then all others: the order of the database. */
export function compareKeys(a: string, b: string): number {
  const x = /^-?\d{1,10}$/.test(a) ? Number(a) : Number.NaN
  const y = /^-?\d{1,10}$/.test(b) ? Number(b) : Number.NaN
  if (!Number.isNaN(x) || !Number.isNaN(y)) return Number.isNaN(x) ? 1 : Number.isNaN(y) ? -1 : x - y
  return a < b ? -1 : a > b ? 1 : 0
}
