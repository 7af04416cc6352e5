// Every query against a reference that sorts and cuts in plain JavaScript:
// one-shot reads, listeners, what the server sends, and windows that move.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import {
  endAt, equalTo, get, limitToFirst, limitToLast, off, onChildAdded, onChildChanged, onChildMoved,
  onChildRemoved, onValue, orderByChild, orderByKey, orderByValue, query, ref, remove, set,
  setWithPriority, startAt, update
} from 'firebase/database'
import { children, fence, keys, Log, values, within } from './events.mjs'
import { scene, sharedServer } from './harness.mjs'
import { random, select, toQuery } from './reference.mjs'

// Children with index values of every kind, with ties, and with keys that
// sort as numbers and as texts.
const indexValues = [
  null, false, true, -1.5, 0, 2, 2, 10, '', '10', '2', 'a', 'a', 'ab', 'b', '\uffee', '😀', { deep: 1 }, { x: 2 }
]
const childKeys = [
  'k3', '20', 'b', '3', 'a', '-7', 'Z', 'k1', 'é', '100', '_', 'k2', 'c', '07', '7', '😀', '\uffee', 'x y', 'zz'
]

// Below tier long a fourth of the queries is read, and one random history is played.
const long = process.env.DOGWOOD_TIER === 'long'

const data = {
  key: Object.fromEntries(childKeys.map((key, i) => [key, i])),
  value: Object.fromEntries(childKeys.map((key, i) => [key, indexValues[i] ?? 'none'])),
  priority: Object.fromEntries(childKeys.map((key, i) => {
    const p = indexValues[i]
    return [key, ['number', 'string'].includes(typeof p) ? { '.priority': p, '.value': i } : i]
  })),
  score: Object.fromEntries(childKeys.map((key, i) => [key, { score: indexValues[i], name: key }])),
  'deep/rank': Object.fromEntries(childKeys.map((key, i) => [key, { deep: { rank: indexValues[i] }, name: key }]))
}

const bounds = {
  key: ['-7', '7', '21', 'a', 'k15', '😀'].map(value => ({ value })),
  value: [{ value: true }, { value: 2 }, { value: 2, key: '-7' }, { value: 'a', key: 'n' }, { value: 'aa' }],
  priority: [{ value: null }, { value: 0, key: 'a' }, { value: 2 }, { value: '10' }, { value: 'a', key: 'c' }],
  child: [{ value: null, key: 'k3' }, { value: false }, { value: 2, key: '-7' }, { value: 'a' }, { value: 'ab', key: 'zz' }]
}

/** Every combination of bounds and limits for one order. */
function* specs(order) {
  const base = ['key', 'value', 'priority'].includes(order) ? { by: order } : { by: 'child', path: order }
  const open = bound => ({ ...bound, open: true })
  const starts = [undefined, ...bounds[base.by], ...bounds[base.by].map(open)]
  const limits = [{}, { first: 3 }, { last: 4 }]
  for (const start of starts) {
    for (const end of starts) {
      for (const limit of limits) yield { ...base, ...(start && { start }), ...(end && { end }), ...limit }
    }
  }
  for (const equal of bounds[base.by]) {
    for (const limit of limits) yield { ...base, equal, ...limit }
  }
}

/** Some of the specs, spread evenly. */
function sample(order, every) {
  return [...specs(order)].filter((_, i) => i % every === 0)
}

suite('queries', () => {
  const server = sharedServer()

  for (const order of Object.keys(data)) {
    test(`one-shot reads by ${order} equal the reference`, async t => {
      const s = scene(t, server)
      await s.rest('PUT', 'x', data[order])
      const db = s.client()
      // get() of this client shows what the server sent, without a filter.
      await Promise.all(sample(order, long ? 1 : 4).map(async spec => {
        const snap = await within(get(toQuery(ref(db, 'x'), spec)), `answer to ${JSON.stringify(spec)}`)
        assert.deepEqual(keys(snap), select(data[order], spec), JSON.stringify(spec))
      }))
    })

    test(`listeners by ${order} equal the reference, and so does what is sent`, async t => {
      const s = scene(t, server)
      await s.rest('PUT', 'x', data[order])
      const { db, proxy } = await s.proxied()
      for (const spec of sample(order, 7)) {
        const want = select(data[order], spec)
        const seen = values(toQuery(ref(db, 'x'), spec), keys)
        await seen.count(1)
        seen.stop()
        assert.deepEqual(seen.items, [want], JSON.stringify(spec))

        const sent = pushes(proxy)
        if (sent.length > 0) {
          const got = Object.keys(sent[0].d ?? {}).filter(key => !key.startsWith('.'))
          assert.deepEqual(got.sort(), [...want].sort(), `sent for ${JSON.stringify(spec)}`)
        }
      }
    })
  }

  test('bounds without an order are priorities', async t => {
    const s = scene(t, server)
    const db = s.client()
    await setWithPriority(ref(db, 'x/a'), 1, 1)
    await setWithPriority(ref(db, 'x/b'), 1, 2)
    await setWithPriority(ref(db, 'x/c'), 1, 'z')
    await set(ref(db, 'x/d'), 1)
    const reader = s.client()
    const read = async (...constraints) => keys(await get(query(ref(reader, 'x'), ...constraints)))
    assert.deepEqual(await read(startAt(2)), ['b', 'c'])
    assert.deepEqual(await read(endAt(1)), ['d', 'a'])
    assert.deepEqual(await read(equalTo(null)), ['d'])
    assert.deepEqual(await read(limitToLast(2)), ['b', 'c'])
  })

  test('a query at a plain value or at nothing is empty', async t => {
    const s = scene(t, server)
    await s.rest('PUT', 'x', 'plain')
    const db = s.client()
    for (const path of ['x', 'nothing']) {
      const q = query(ref(db, path), orderByKey(), limitToFirst(2))
      assert.equal((await get(q)).exists(), false)
      await values(q, snap => snap.exists()).reaches(false)
    }
  })

  test('a window refills when a child leaves, and drops one when another enters', async t => {
    const s = scene(t, server)
    const writer = s.client()
    const { db, proxy } = await s.proxied()
    await set(ref(writer, 'x'), { a: { n: 1 }, b: { n: 2 }, c: { n: 3 }, d: { n: 4 }, e: { n: 5 } })
    const first = children(query(ref(db, 'x'), orderByChild('n'), limitToFirst(2)))
    const last = children(query(ref(db, 'x'), orderByChild('n'), limitToLast(2)))
    await Promise.all([first.count(2), last.count(2)])
    const step = async (what, write, wantFirst, wantLast) => {
      const before = [first.items.length, last.items.length]
      await write
      await fence(db)
      assert.deepEqual(first.items.slice(before[0]), wantFirst, `first two, ${what}`)
      assert.deepEqual(last.items.slice(before[1]), wantLast, `last two, ${what}`)
    }

    await step('a leaves', remove(ref(writer, 'x/a')), ['removed a', 'added c after b'], [])
    await step('e leaves', remove(ref(writer, 'x/e')), [], ['removed e', 'added c after null'])
    await step('a enters', set(ref(writer, 'x/a'), { n: 0 }), ['removed c', 'added a after null'], [])
    await step('e enters', set(ref(writer, 'x/e'), { n: 9 }), [], ['removed c', 'added e after d'])
    await step('a moves behind b', set(ref(writer, 'x/a/n'), 2.5), ['moved a after b', 'changed a after b'], [])
    await step('a moves to the end', set(ref(writer, 'x/a/n'), 10),
      ['removed a', 'added c after b'], ['removed d', 'added a after e'])
    await step('b changes in place', set(ref(writer, 'x/b/text'), 'hi'), ['changed b after null'], [])

    const quiet = proxy.messages.items.length
    await set(ref(writer, 'x/d/text'), 'outside both windows') // b c | d | e a
    await fence(db)
    const sent = proxy.messages.items.slice(quiet).filter(m => m.from === 'server' && m.body.a)
    assert.deepEqual(sent.map(m => m.body.b), [], 'nothing is sent for a change outside')

    await step('all leave', set(ref(writer, 'x'), null),
      ['removed b', 'removed c'], ['removed e', 'removed a'])
    await step('one comes back', set(ref(writer, 'x/z'), { n: 1 }), ['added z after null'], ['added z after null'])
  })

  test('a change and its consequence in the window are one event', async t => {
    const s = scene(t, server)
    const writer = s.client()
    const db = s.client()
    await set(ref(writer, 'x'), { a: 1, b: 2, c: 3, d: 4 })
    const seen = values(query(ref(db, 'x'), orderByValue(), limitToFirst(2)))
    await seen.reaches({ a: 1, b: 2 })
    await remove(ref(writer, 'x/a'))
    await set(ref(writer, 'x/z'), 0)
    await update(ref(writer, 'x'), { z: null, b: null, c: 30, e: 5 })
    await fence(db)
    assert.deepEqual(seen.items, [{ a: 1, b: 2 }, { b: 2, c: 3 }, { z: 0, b: 2 }, { d: 4, e: 5 }])
  })

  test('a child that enters arrives whole', async t => {
    const s = scene(t, server)
    const writer = s.client()
    const db = s.client()
    const big = { n: 5, text: 'long '.repeat(100), list: [1, 2, 3], deep: { a: { b: true } } }
    await set(ref(writer, 'x'), { a: { n: 1 }, b: big })
    const seen = values(query(ref(db, 'x'), orderByChild('n'), limitToFirst(1)))
    await seen.reaches({ a: { n: 1 } })
    await set(ref(writer, 'x/b/n'), 0)
    await seen.reaches({ b: { ...big, n: 0 } })
  })

  test('an own write outside the window does not disturb it', async t => {
    const s = scene(t, server)
    const db = s.client()
    await s.rest('PUT', 'x', { a: 1, b: 2, c: 3 })
    const seen = children(query(ref(db, 'x'), orderByKey(), limitToFirst(2)))
    await seen.count(2)
    await set(ref(db, 'x/d'), 4)
    await fence(db)
    assert.deepEqual(seen.items, ['added a after null', 'added b after a'])
    await set(ref(db, 'x/0'), 0)
    await fence(db)
    assert.deepEqual(seen.items.slice(2), ['removed b', 'added 0 after null'])
  })

  for (const seed of long ? [1, 2, 3] : [1]) {
    test(`windows follow random writes (seed ${seed})`, t => followRandomWrites(scene(t, server), seed))
  }
})

// pushes returns the bodies of the data pushes so far, and forgets them.
function pushes(proxy) {
  const bodies = proxy.messages.items
    .filter(m => m.from === 'server' && m.type === 'd' && ['d', 'm'].includes(m.body.a))
    .map(m => m.body.b)
  proxy.messages.items.length = 0
  return bodies
}

const windows = [
  { by: 'key', first: 3 },
  { by: 'key', start: { value: 'c' }, last: 2 },
  { by: 'value', last: 3 },
  { by: 'child', path: 'n', first: 3 },
  { by: 'child', path: 'n', last: 3 },
  { by: 'child', path: 'n', start: { value: 2, open: true }, first: 2 },
  { by: 'child', path: 'n', start: { value: 1 }, end: { value: 3, open: true } },
  { by: 'child', path: 'n', equal: { value: 2 } },
  { by: 'child', path: 'deep/m', end: { value: 2, key: 'd' }, last: 2 },
  { by: 'priority', first: 2 },
  { by: 'priority', start: { value: 1 }, end: { value: 'b' }, last: 3 }
]

// followRandomWrites makes random changes with one client; another follows the
// windows. After each change every window must equal the reference, and so must
// the sum of its child events.
async function followRandomWrites(s, seed) {
  const below = random(seed)
  const writer = s.client()
  const db = s.client()
  const views = windows.map(spec => ({ spec, ...follow(toQuery(ref(db, 'x'), spec)) }))
  await Promise.all(views.map(view => view.seen.count(1)))

  for (let step = 0; step < 120; step++) {
    const what = await randomWrite(below, writer)
    await fence(db)
    const nodes = (await s.rest('GET', 'x', undefined, { format: 'export' })) ?? {}
    for (const { spec, seen, present } of views) {
      const want = select(nodes, spec)
      const where = `seed ${seed}, step ${step} (${what}), window ${JSON.stringify(spec)}`
      assert.deepEqual(seen.last, want, where)
      assert.deepEqual([...present].sort(), [...want].sort(), `child events, ${where}`)
    }
  }
  off(ref(db, 'x'))
}

// follow returns the value events of a query, as key lists, and the set of keys
// that the child events alone add up to. (Their order cannot be replayed: in
// one round this client reports additions before the moves they rely on.)
function follow(q) {
  const present = new Set()
  const seen = new Log()
  onChildAdded(q, snap => {
    assert.ok(!present.has(snap.key), `${snap.key} added twice`)
    present.add(snap.key)
  })
  onChildRemoved(q, snap => assert.ok(present.delete(snap.key), `${snap.key} removed, but not there`))
  onChildChanged(q, snap => assert.ok(present.has(snap.key), `${snap.key} changed, but not there`))
  onChildMoved(q, snap => assert.ok(present.has(snap.key), `${snap.key} moved, but not there`))
  onValue(q, snap => seen.add(keys(snap)))
  return { seen, present }
}

async function randomWrite(below, db) {
  const pick = list => list[below(list.length)]
  const key = () => pick(['a', 'b', 'c', 'd', 'e', 'f', '1', '2', '10'])
  const leaf = () => pick([0, 1, 1, 2, 2, 3, 4, 'a', 'b', true, null])
  const child = () => pick([leaf(), { n: leaf(), deep: { m: leaf() } }, { n: leaf(), '.priority': pick([1, 2, 'a', null]) }])
  const k = key()
  switch (below(6)) {
    case 0:
      await remove(ref(db, `x/${k}`))
      return `remove ${k}`
    case 1:
      await set(ref(db, `x/${k}/n`), leaf())
      return `set ${k}/n`
    case 2: {
      const many = { [key()]: child(), [key()]: child(), [`${k}0`]: null }
      await update(ref(db, 'x'), many)
      return `update ${JSON.stringify(many)}`
    }
    case 3:
      await setWithPriority(ref(db, `x/${k}`), pick([1, 2, 'text']), pick([0, 1, 2, 'a', 'c']))
      return `set ${k} with priority`
    default: {
      const value = child()
      await set(ref(db, `x/${k}`), value)
      return `set ${k} to ${JSON.stringify(value)}`
    }
  }
}
