// runTransaction: compare-and-set under contention.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import {
  get, goOffline, goOnline, increment, onValue, ref, runTransaction, set, setWithPriority, update
} from 'firebase/database'
import { fence, Log, values, within } from './events.mjs'
import { scene, sharedServer } from './harness.mjs'

const CLIENTS = 20

suite('transactions', () => {
  const server = sharedServer()

  test('20 clients that count at once miss nothing', async t => {
    const s = scene(t, server)
    const clients = Array.from({ length: CLIENTS }, () => s.client())
    const watched = values(ref(s.client(), 'n'))
    await watched.reaches(null)
    for (let round = 1; round <= 3; round++) {
      // A retry needs a commit by another client, so nobody can fail 25 times.
      const results = await within(
        Promise.all(clients.map(db => runTransaction(ref(db, 'n'), n => (n ?? 0) + 1))),
        `end of round ${round}`
      )
      assert.ok(results.every(result => result.committed))
      const got = results.map(result => result.snapshot.val()).sort((a, b) => a - b)
      assert.deepEqual(got, Array.from({ length: CLIENTS }, (_, i) => (round - 1) * CLIENTS + i + 1))
    }
    await watched.reaches(3 * CLIENTS)
    const steps = watched.items.slice(1)
    assert.deepEqual(steps, steps.toSorted((a, b) => a - b), 'a watcher sees it rise only')
  })

  test('of 20 clients that claim a seat, one gets it', async t => {
    const s = scene(t, server)
    const clients = Array.from({ length: CLIENTS }, () => s.client())
    const results = await Promise.all(clients.map((db, i) =>
      runTransaction(ref(db, 'seat'), taken => (taken === null ? { by: i } : undefined))
    ))
    const winners = results.flatMap((result, i) => (result.committed ? [i] : []))
    assert.equal(winners.length, 1)
    const want = { by: winners[0] }
    for (const result of results) assert.deepEqual(result.snapshot.val(), want)
    assert.deepEqual(await s.rest('GET', 'seat'), want)
  })

  test('20 clients take 20 different items from one list', async t => {
    const s = scene(t, server)
    const clients = Array.from({ length: CLIENTS }, () => s.client())
    await s.rest('PUT', 'jobs', { open: Object.fromEntries(clients.map((_, i) => [`job${i}`, true])) })
    const took = await Promise.all(clients.map(async (db, i) => {
      let mine
      const result = await runTransaction(ref(db, 'jobs'), jobs => {
        mine = Object.keys(jobs?.open ?? {})[0]
        if (!mine) return jobs // nothing cached yet: ask the server
        delete jobs.open[mine]
        jobs.done = { ...jobs.done, [mine]: i }
        return jobs
      })
      assert.ok(result.committed)
      return mine
    }))
    assert.equal(new Set(took).size, CLIENTS)
    const { open, done } = await s.rest('GET', 'jobs')
    assert.equal(open, undefined)
    took.forEach((job, i) => assert.equal(done[job], i))
  })

  test('a refused value arrives before the refusal', async t => {
    const s = scene(t, server)
    const { db, proxy } = await s.proxied()
    await s.rest('PUT', 'n', 100)
    const result = await runTransaction(ref(db, 'n'), n => (n ?? 0) + 1)
    assert.equal(result.snapshot.val(), 101)

    const log = proxy.messages.items.filter(m => m.type === 'd')
    const puts = log.filter(m => m.from === 'client' && m.body.a === 'p')
    assert.ok(puts.length <= 2, `${puts.length} attempts`)
    for (const put of puts) {
      const answer = log.findIndex(m => m.from === 'server' && m.body.r === put.body.r)
      if (log[answer].body.b.s !== 'datastale') continue
      const push = log.findIndex(m => m.from === 'server' && m.body.a === 'd' && m.body.b.d === 100)
      assert.ok(push >= 0 && push < answer, 'the push that explains it')
    }
  })

  test('returning undefined aborts and changes nothing', async t => {
    const s = scene(t, server)
    const db = s.client()
    await s.rest('PUT', 'n', 5)
    const seen = values(ref(db, 'n'))
    await seen.reaches(5)
    const calls = []
    const result = await runTransaction(ref(db, 'n'), n => void calls.push(n))
    assert.equal(result.committed, false)
    assert.equal(result.snapshot.val(), 5)
    assert.deepEqual(calls, [5])
    await fence(db)
    assert.deepEqual(seen.items, [5])
  })

  test('returning null removes', async t => {
    const s = scene(t, server)
    await s.rest('PUT', 'x', { a: 1 })
    const result = await runTransaction(ref(s.client(), 'x'), () => null)
    assert.equal(result.committed, true)
    assert.equal(result.snapshot.exists(), false)
    assert.equal(await s.rest('GET', 'x'), null)
  })

  test('a guess shows at once, applyLocally: false waits for the commit', async t => {
    const s = scene(t, server)
    const { db, proxy } = await s.proxied()
    const other = s.client()
    await set(ref(other, 'n'), 1)
    const seen = values(ref(db, 'n'))
    await seen.reaches(1)

    // Both times another client comes first.
    proxy.hold()
    const guessed = runTransaction(ref(db, 'n'), n => `${n}+guess`)
    assert.equal(seen.last, '1+guess', 'shown before any answer')
    await set(ref(other, 'n'), 2)
    proxy.release()
    assert.equal((await guessed).snapshot.val(), '2+guess')
    await fence(db)
    assert.equal(seen.last, '2+guess')

    const from = seen.items.length
    proxy.hold()
    const quiet = runTransaction(ref(db, 'n'), n => `${n}+quiet`, { applyLocally: false })
    await set(ref(other, 'n'), 3)
    proxy.release()
    assert.equal((await quiet).snapshot.val(), '3+quiet')
    await fence(db)
    assert.deepEqual(seen.items.slice(from), [3, '3+quiet'])
  })

  test('transactions of one client on nested places run in order', async t => {
    const s = scene(t, server)
    const db = s.client()
    const other = s.client()
    const results = await Promise.all([
      runTransaction(ref(db, 'x/n'), n => (n ?? 0) + 1),
      runTransaction(ref(db, 'x'), x => ({ ...x, seen: x?.n ?? 'nothing' })),
      runTransaction(ref(db, 'x/n'), n => (n ?? 0) + 1),
      runTransaction(ref(other, 'x/n'), n => (n ?? 0) + 10)
    ])
    assert.ok(results.every(result => result.committed))
    const { n, seen } = await s.rest('GET', 'x')
    assert.equal(n, 12)
    assert.ok([1, 11].includes(seen), `seen: ${seen}`)
  })

  test('a plain write by the same client cancels its transaction', async t => {
    const s = scene(t, server)
    const db = s.client()
    await s.rest('PUT', 'x', 'old') // so that the first attempt, on nothing, fails
    const transaction = runTransaction(ref(db, 'x'), () => 'transaction')
    const write = set(ref(db, 'x'), 'write')
    await assert.rejects(transaction, /set/)
    await write
    assert.equal(await s.rest('GET', 'x'), 'write')
  })

  test('a transaction beside other writes loses nothing of them', async t => {
    const s = scene(t, server)
    const [b, c] = [s.client(), s.client()]
    // Each by a client of its own: one that has more than one under way sends what the later
    // ones made of an old value, with the hash of the new one.
    await Promise.all([
      ...[1, 2, 3, 4, 5].map(() => runTransaction(ref(s.client(), 'x'), x => ({ ...x, t: (x?.t ?? 0) + 1 }))),
      ...[1, 2, 3, 4, 5].map(i => update(ref(b, 'x'), { [`u${i}`]: true, n: increment(1) })),
      ...[1, 2, 3, 4, 5].map(i => set(ref(c, `x/s${i}`), i))
    ])
    assert.deepEqual(await s.rest('GET', 'x'), {
      t: 5, n: 5, u1: true, u2: true, u3: true, u4: true, u5: true, s1: 1, s2: 2, s3: 3, s4: 4, s5: 5
    })
  })

  test('every kind of value and priority hashes alike on both sides', async t => {
    const s = scene(t, server)
    const writer = s.client()
    const kinds = {
      numbers: [0, 1, -1, 0.1, 1e21, 1.5e-7, 2 ** 31, 2 ** 53, 5e-324, Number.MAX_VALUE],
      // This client hashes these differently from everybody else.
      'numbers with a wrong logarithm': [Number.MAX_SAFE_INTEGER, 2 ** 48 - 1, 2 ** -29, 2 ** -31, -2.5e-300],
      texts: ['', ':', 'a:b:c', 'äß', '東京', '👩‍👩‍👧', '\u2028', '"\\'],
      others: [true, false, { a: { b: 1 }, 10: 'x', 9: 'y', é: 1, '😀': 2, '\uffee': 3 }],
      priorities: [
        { a: { '.value': 1, '.priority': 'z' }, b: { '.value': 2, '.priority': 3 }, c: 3 },
        { '.priority': 1.5, a: 1 }, { '.priority': 'p', a: { '.priority': 0, b: 1 } }
      ]
    }
    for (const [name, list] of Object.entries(kinds)) {
      await set(ref(writer, 'x'), list)
      const calls = new Log()
      const result = await within(runTransaction(ref(s.client(), 'x'), x => {
        calls.add(x)
        return x === null ? null : x
      }), `commit over ${name}`)
      assert.equal(result.committed, true, name)
      assert.ok(calls.items.length <= 2, `${name}: ${calls.items.length} attempts`)
    }
  })

  test('the priority of the place survives', async t => {
    const s = scene(t, server)
    await setWithPriority(ref(s.client(), 'x'), { n: 1 }, 7)
    const result = await runTransaction(ref(s.client(), 'x'), x => (x ? { n: x.n + 1 } : x))
    assert.deepEqual(result.snapshot.exportVal(), { '.priority': 7, n: 2 })
    assert.equal((await get(ref(s.client(), 'x'))).priority, 7)
  })

  test('REST writes between make it run again', async t => {
    const s = scene(t, server)
    const { db, proxy } = await s.proxied()
    await s.rest('PUT', 'n', 1)
    const seen = values(ref(db, 'n'))
    await seen.reaches(1)
    proxy.hold()
    const transaction = runTransaction(ref(db, 'n'), n => n + 1)
    await s.rest('PUT', 'n', 10)
    proxy.release()
    assert.equal((await transaction).snapshot.val(), 11)
    assert.equal(await s.rest('GET', 'n'), 11)
  })

  test('started offline, it runs on the real value afterwards', async t => {
    const s = scene(t, server)
    const db = s.client()
    const seen = values(ref(db, 'n'))
    await seen.reaches(null)
    goOffline(db)
    const transaction = runTransaction(ref(db, 'n'), n => (n ?? 0) + 1)
    assert.equal(seen.last, 1)
    await s.rest('PUT', 'n', 41)
    goOnline(db)
    assert.equal((await transaction).snapshot.val(), 42)
    await seen.reaches(42)
  })

  test('sent and never answered, it is reported as such', async t => {
    const s = scene(t, server)
    const { db, proxy } = await s.proxied()
    const connected = new Log()
    onValue(ref(db, '.info/connected'), snap => connected.add(snap.val()))
    const seen = values(ref(db, 'n'))
    await seen.reaches(null)
    proxy.silence()
    const transaction = runTransaction(ref(db, 'n'), n => (n ?? 0) + 1)
    goOffline(db)
    await assert.rejects(transaction, /disconnect/)
    goOnline(db)
    await connected.reaches(true)
    assert.equal((await runTransaction(ref(db, 'n'), n => (n ?? 0) + 1)).snapshot.val(), 1)
  })
})
