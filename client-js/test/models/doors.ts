// The ways into a server, by which the operations of the models are played.

import { isDeepStrictEqual } from 'node:util'
import * as live from '../../src/index.js'
import * as rest from '../../src/rest.js'
import type { ChildEvent, Step } from './steps.js'

/** One actor at one server. */
export interface Door {
  /** What a query shows, and the keys of its children in order, where that can be seen. */
  get(step: Pick<Step, 'path' | 'query' | 'shallow'>): Promise<{ value: any; order?: string[] }>
  /** Returns false if a condition of the write did not hold. */
  write(step: Step): Promise<boolean>
  /** Resolves with the first value, and with what is heard from then on. */
  listen(step: Step): Promise<{ value: any; events(count: number): Promise<ChildEvent[]> }>
  close(): void
}

/** Opens the database at a URL, with the token of an actor. */
export type Opens = (databaseURL: string, token?: string) => Door

export const doors: Record<string, Opens> = {
  realtime(databaseURL, token) {
    const db = live.getDatabase({ databaseURL, ...(token && { token: () => token }) })
    return {
      ...operations(live, db),
      async listen(step) {
        const q = queryOf(live, db, step)
        const heard: ChildEvent[] = []
        const add = (type: string) => (snapshot: live.DataSnapshot) => {
          heard.push({
            type,
            key: snapshot.key!,
            ...(type !== 'child_removed' && { value: snapshot.val() })
          })
        }
        live.onChildRemoved(q, add('child_removed'))
        live.onChildAdded(q, add('child_added'))
        live.onChildChanged(q, add('child_changed'))
        const value = await new Promise((resolve, reject) =>
          live.onValue(q, snapshot => resolve(snapshot.val()), reject, { onlyOnce: true })
        )
        heard.length = 0
        return {
          value,
          async events() {
            // What is refused comes after all that was heard before.
            await live.set(live.ref(db, 'fence'), 1).catch(() => {})
            return heard.splice(0)
          }
        }
      },
      close: () => live.deleteDatabase(db)
    }
  },

  rest(databaseURL, token) {
    const db = rest.getDatabase({ databaseURL, ...(token && { token: () => token }) })
    return { ...operations(rest, db), listen: step => stream(db, step), close() {} }
  },

  /** What another program would send. */
  http(databaseURL, token) {
    const { origin, searchParams } = new URL(databaseURL)
    const db = rest.getDatabase({ databaseURL, ...(token && { token: () => token }) })
    const request = async (
      method: string,
      path: string,
      options: { query?: object; body?: unknown; tag?: string; headers?: Record<string, string> } = {}
    ) => {
      const query = new URLSearchParams({ ns: searchParams.get('ns')!, ...options.query })
      const headers = { ...options.headers }
      if (token === 'owner') headers.authorization = 'Bearer owner'
      else if (token) query.set('auth', token)
      if (options.tag) headers['if-match'] = options.tag
      const url = `${origin}/${path.split('/').filter(Boolean).map(encodeURIComponent).join('/')}.json?${query}`
      const response = await fetch(url, { method, headers, body: JSON.stringify(options.body) })
      const body = await response.json()
      if (response.status === 401) throw new rest.DogwoodError('PERMISSION_DENIED', body.error)
      if (!response.ok && response.status !== 412) throw new Error(`${response.status} ${body.error}`)
      return { ok: response.ok, body, tag: response.headers.get('etag')! }
    }
    return {
      async get({ path, query = {}, shallow }) {
        const texts = Object.entries(query).map(([name, value]) => [name, JSON.stringify(value)])
        const options = { ...Object.fromEntries(texts), ...(shallow && { shallow: 'true' }) }
        return { value: (await request('GET', path, { query: options })).body }
      },
      async write({ op, path, key, value, assume }) {
        if (op === 'update') return (await request('PATCH', path, { body: value })).ok
        if (op === 'delete') return (await request('DELETE', path)).ok
        if (op === 'push') return (await request('PUT', `${path}/${key}`, { body: value })).ok
        if (op === 'create') return (await request('PUT', path, { body: value, tag: 'null_etag' })).ok
        if (op === 'set') return (await request('PUT', path, { body: value })).ok
        const there = await request('GET', path, { headers: { 'x-firebase-etag': 'true' } })
        if (!isDeepStrictEqual(there.body, assume)) return false
        return (await request('PUT', path, { body: value, tag: there.tag })).ok
      },
      listen: step => stream(db, step),
      close() {}
    }
  }
}

// Reading and writing, which both entries of the package have by the same names.
function operations(api: typeof live | typeof rest, db: any): Pick<Door, 'get' | 'write'> {
  const { child, ref, remove, runTransaction, set, update } = api as typeof live
  const change = async (path: string, next: (value: unknown) => unknown) =>
    (await runTransaction(ref(db, path), next)).committed
  const writers: Record<string, (step: Step) => Promise<unknown>> = {
    set: ({ path, value }) => set(ref(db, path), value),
    push: ({ path, key, value }) => set(child(ref(db, path), key!), value), // as push() does with its own key
    delete: ({ path }) => remove(ref(db, path)),
    update: ({ path, value }) => update(ref(db, path), value),
    create: ({ path, value }) => change(path, now => (now === null ? value : undefined)),
    // The first guess of the current value may be null, which the server corrects.
    transaction: ({ path, assume, value }) =>
      change(path, now => (isDeepStrictEqual(now, assume) ? value : now === null ? null : undefined))
  }
  return {
    async get(step) {
      const snapshot = await api.get(queryOf(api, db, step))
      const order: string[] = []
      snapshot.forEach(({ key }) => {
        order.push(key)
      })
      const value = step.shallow && order.length ? Object.fromEntries(order.map(key => [key, true])) : null
      return { value: value ?? snapshot.val(), order }
    },
    async write(step) {
      return (await writers[step.op]!(step)) !== false
    }
  }
}

// Over an event stream, which tells what changes, but not of children.
async function stream(db: rest.Database, step: Step) {
  let before: Record<string, unknown> = {}
  let now: Record<string, unknown> = {}
  const value = await new Promise((resolve, reject) => {
    rest.onValue(
      queryOf(rest, db, step),
      snapshot => {
        now = snapshot.val() ?? {}
        resolve(now)
      },
      reject
    )
  })
  before = now
  const changes = () => {
    const events: ChildEvent[] = []
    for (const key of new Set([...Object.keys(before), ...Object.keys(now)])) {
      if (!(key in now)) events.push({ type: 'child_removed', key })
      else if (!(key in before)) events.push({ type: 'child_added', key, value: now[key] })
      else if (!isDeepStrictEqual(before[key], now[key]))
        events.push({ type: 'child_changed', key, value: now[key] })
    }
    return events
  }
  return {
    value,
    async events(count: number) {
      while (changes().length < count) await new Promise(resolve => setTimeout(resolve, 10))
      const events = changes()
      before = now
      return events
    }
  }
}

/** The query of a step, made of the functions of an entry. */
function queryOf(
  api: typeof live | typeof rest,
  db: any,
  { path, query = {} }: Pick<Step, 'path' | 'query'>
): live.Query {
  const { orderBy, ...bounds } = query
  const { endAt, equalTo, limitToFirst, limitToLast, orderByChild, orderByKey, orderByValue, startAt } = api
  const named: Record<string, (value: any) => live.QueryConstraint> = {
    endAt,
    equalTo,
    limitToFirst,
    limitToLast,
    startAt
  }
  const constraints = Object.entries(bounds).map(([name, value]) => named[name]!(value))
  if (orderBy === '$key') constraints.unshift(orderByKey())
  else if (orderBy === '$value') constraints.unshift(orderByValue())
  else if (orderBy) constraints.unshift(orderByChild(orderBy))
  return api.query(api.ref(db, path), ...constraints)
}
