// REST and the socket are two doors to one database.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import {
  get, limitToFirst, onValue, orderByChild, push, query, ref, remove, runTransaction, set, startAt, update
} from 'firebase/database'
import { keys, Log, values } from './events.mjs'
import { scene, Server, sharedServer } from './harness.mjs'

suite('REST and socket', () => {
  const server = sharedServer()

  test('every REST write reaches a listener', async t => {
    const s = scene(t, server)
    const seen = values(ref(s.client(), 'x'))
    await seen.reaches(null)
    await s.rest('PUT', 'x', { a: 1, b: { c: 2 } })
    await seen.reaches({ a: 1, b: { c: 2 } })
    await s.rest('PATCH', 'x', { a: 2, 'b/d': 3 })
    await seen.reaches({ a: 2, b: { c: 2, d: 3 } })
    const { name } = await s.rest('POST', 'x/list', 'pushed')
    await seen.reaches({ a: 2, b: { c: 2, d: 3 }, list: { [name]: 'pushed' } })
    await s.rest('DELETE', 'x/b')
    await seen.reaches({ a: 2, list: { [name]: 'pushed' } })
    await s.rest('DELETE', '')
    await seen.reaches(null)
    assert.equal(seen.items.length, 6, 'one event per write')
  })

  test('every socket write is there for REST as soon as it is acknowledged', async t => {
    const s = scene(t, server)
    const db = s.client()
    await set(ref(db, 'x'), { a: 1, b: 2 })
    assert.deepEqual(await s.rest('GET', 'x'), { a: 1, b: 2 })
    await update(ref(db, '/'), { 'x/a': null, 'y/z': true })
    assert.deepEqual(await s.rest('GET', ''), { x: { b: 2 }, y: { z: true } })
    const item = await push(ref(db, 'list'), 'pushed')
    assert.deepEqual(await s.rest('GET', 'list'), { [item.key]: 'pushed' })
    await remove(ref(db, 'x'))
    assert.equal(await s.rest('GET', 'x'), null)
  })

  test('REST queries select what socket queries select', async t => {
    const s = scene(t, server)
    const people = { ana: { age: 30 }, bo: { age: 20 }, cy: { age: 40 }, di: { age: 20 }, ed: {} }
    await s.rest('PUT', 'people', { ...people, ed: { name: 'no age' } })
    const db = s.client()
    const snap = await get(query(ref(db, 'people'), orderByChild('age'), startAt(20), limitToFirst(3)))
    assert.deepEqual(keys(snap), ['bo', 'di', 'ana'])
    const rest = await s.rest('GET', 'people', undefined, { orderBy: '"age"', startAt: '20', limitToFirst: '3' })
    assert.deepEqual(rest, snap.val())
    const shallow = await s.rest('GET', 'people', undefined, { shallow: 'true' })
    assert.deepEqual(shallow, { ana: true, bo: true, cy: true, di: true, ed: true })
  })

  test('a conditional REST write and a transaction respect each other', async t => {
    const s = scene(t, server)
    const db = s.client()
    await s.rest('PUT', 'n', 1)
    const read = await s.fetch('n', { headers: { 'X-Firebase-ETag': 'true' } })
    const tag = read.headers.get('etag')
    assert.equal((await runTransaction(ref(db, 'n'), n => (n ?? 0) + 1)).snapshot.val(), 2)

    const refused = await s.fetch('n', { method: 'PUT', body: 10, headers: { 'If-Match': tag } })
    assert.equal(refused.status, 412)
    assert.equal(await refused.json(), 2)
    const put = await s.fetch('n', { method: 'PUT', body: 10, headers: { 'If-Match': refused.headers.get('etag') } })
    assert.equal(put.status, 200)
    assert.equal((await runTransaction(ref(db, 'n'), n => (n ?? 0) + 1)).snapshot.val(), 11)
  })

  test('an event stream follows socket writes', async t => {
    const s = scene(t, server)
    const db = s.client()
    await set(ref(db, 'x'), { a: 1, b: 2 })
    const stream = await open(t, s, 'x')
    await stream.reaches(['put', { path: '/', data: { a: 1, b: 2 } }])
    await set(ref(db, 'x/a'), { deep: 'ü' })
    await stream.reaches(['put', { path: '/a', data: { deep: 'ü' } }])
    await update(ref(db, 'x'), { b: null, c: 3, 'a/more': 4 })
    await stream.reaches(['patch', { path: '/', data: { b: null, c: 3, 'a/more': 4 } }])
    await runTransaction(ref(db, 'x/c'), n => (n ?? 0) + 1)
    await stream.reaches(['put', { path: '/c', data: 4 }])
    await remove(ref(db, 'x'))
    await stream.reaches(['put', { path: '/', data: null }])
    await set(ref(db, 'elsewhere'), 1)
    await set(ref(db, '/'), { x: 'end' })
    await stream.reaches(['put', { path: '/', data: 'end' }])
    const names = stream.items.map(([name]) => name).filter(name => name !== 'keep-alive')
    assert.deepEqual(names, ['put', 'put', 'patch', 'put', 'put', 'put'])
  })

  test('a query stream keeps its window', async t => {
    const s = scene(t, server)
    const db = s.client()
    await set(ref(db, 'x'), { a: { n: 1 }, b: { n: 2 }, c: { n: 3 } })
    const stream = await open(t, s, 'x', { orderBy: '"n"', limitToFirst: '2' })
    await stream.reaches(['put', { path: '/', data: { a: { n: 1 }, b: { n: 2 } } }])

    // However the changes are cut into events, applied they are the window.
    const held = apply(stream)
    await set(ref(db, 'x/d'), { n: 0 })
    await held.reaches({ d: { n: 0 }, a: { n: 1 } })
    await remove(ref(db, 'x/a'))
    await held.reaches({ d: { n: 0 }, b: { n: 2 } })
    await set(ref(db, 'x/b/text'), 'hi')
    await held.reaches({ d: { n: 0 }, b: { n: 2, text: 'hi' } })
  })

  test('socket and stream see the same order of writes', async t => {
    const s = scene(t, server)
    const [a, b] = [s.client(), s.client()]
    const stream = await open(t, s, 'x')
    await stream.reaches(['put', { path: '/', data: null }])
    const socket = new Log()
    onValue(ref(s.client(), 'x'), snap => socket.add(snap.val()))
    await socket.count(1)
    await Promise.all(Array.from({ length: 30 }, (_, i) => [
      set(ref(a, 'x'), `a${i}`), set(ref(b, 'x'), `b${i}`), s.rest('PUT', 'x', `r${i}`)
    ]).flat())
    await s.rest('PUT', 'x', 'end')
    await stream.reaches(['put', { path: '/', data: 'end' }])
    await socket.reaches('end')
    const streamed = stream.items.filter(([name]) => name === 'put').map(([, { data }]) => data)
    assert.deepEqual(streamed, socket.items)
  })

  test('without ns both doors lead to the default namespace', async t => {
    const own = await new Server(['--default-namespace', 'home']).start()
    t.after(() => own.stop())
    const s = scene(t, own, 'home')
    const db = s.client()
    await set(ref(db, 'x'), 1)
    const response = await fetch(`${own.url}/x.json`)
    assert.equal(await response.json(), 1)
    const seen = values(ref(db, 'x'))
    await seen.reaches(1)
    await fetch(`${own.url}/x.json`, { method: 'PUT', body: '2' })
    await seen.reaches(2)
  })

  test('a sample is there for both doors', async t => {
    const own = await new Server(['--sample', 'chat']).start()
    t.after(() => own.stop())
    const s = scene(t, own, 'demo')
    const sample = (await get(ref(s.client(), '/'))).val()
    assert.ok(sample.rooms)
    assert.deepEqual(await s.rest('GET', ''), sample)
  })
})

// open starts an event stream and logs its events as [name, data].
async function open(t, s, path, query) {
  const abort = new AbortController()
  t.after(() => abort.abort())
  const response = await s.fetch(path, { query, headers: { Accept: 'text/event-stream' }, signal: abort.signal })
  assert.equal(response.status, 200)
  assert.match(response.headers.get('content-type'), /^text\/event-stream/)
  const log = new Log()
  read(response.body, log).catch(log.fail)
  return log
}

async function read(body, log) {
  let text = ''
  for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
    const events = (text + chunk).split('\n\n')
    text = events.pop()
    for (const event of events) {
      const [name, data] = event.split('\n').map(line => line.slice(line.indexOf(': ') + 2))
      log.add([name, JSON.parse(data)])
    }
  }
  throw new Error('the stream ended')
}

// apply keeps the value that a stream describes, one item per event.
function apply(stream) {
  const log = new Log()
  let value = null
  const write = (path, data) => {
    value = replace(value, path.split('/').filter(Boolean), data)
  }
  let done = 0
  stream.until(items => {
    for (; done < items.length; done++) {
      const [name, change] = items[done]
      if (name === 'put') write(change.path, change.data)
      if (name === 'patch') for (const [key, data] of Object.entries(change.data)) write(`${change.path}/${key}`, data)
      log.add(structuredClone(value))
    }
  }).catch(() => {}) // ends with the test
  return log
}

function replace(value, [key, ...rest], data) {
  if (key === undefined) return data
  const copy = { ...value, [key]: replace(value?.[key], rest, data) }
  if (copy[key] === null) delete copy[key]
  return Object.keys(copy).length > 0 ? copy : null
}
