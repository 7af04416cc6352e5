// What was acknowledged is on disk: the server is killed at once and asked
// again.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { goOffline, increment, push, ref, runTransaction, set, setWithPriority, update } from 'firebase/database'
import { within } from './events.mjs'
import { durableServer, scene } from './harness.mjs'

suite('durability', () => {
  test('acknowledged writes of every kind survive a kill', async t => {
    const server = await durableServer(t)
    const s = scene(t, server)
    const db = s.client()
    const want = { list: {} }
    for (let round = 1; round <= 3; round++) {
      await set(ref(db, `set/r${round}`), { n: round, '.priority': round })
      await update(ref(db, '/'), { [`update/a${round}`]: true, [`update/b/c${round}`]: 'x' })
      const item = await push(ref(db, 'list'), round)
      await set(ref(db, 'count'), increment(1))
      await runTransaction(ref(db, 'sum'), n => (n ?? 0) + round)
      await setWithPriority(ref(db, 'leaf'), round, `p${round}`)
      await s.rest('PUT', `rest/put${round}`, round)
      await server.kill()
      await server.start()

      want.set = { ...want.set, [`r${round}`]: { n: round, '.priority': round } }
      want.update = { ...want.update, [`a${round}`]: true, b: { ...want.update?.b, [`c${round}`]: 'x' } }
      want.list[item.key] = round
      want.count = round
      want.sum = (round * (round + 1)) / 2
      want.leaf = { '.value': round, '.priority': `p${round}` }
      want.rest = { ...want.rest, [`put${round}`]: round }
      assert.deepEqual(await s.rest('GET', '', undefined, { format: 'export' }), want, `after kill ${round}`)
    }
  })

  test('a kill in the middle of a stream of writes loses none that was answered', async t => {
    const server = await durableServer(t)
    const s = scene(t, server)
    const clients = Array.from({ length: 5 }, () => s.client())
    const acknowledged = new Set()
    let enough
    const reached = new Promise(resolve => (enough = resolve))
    clients.forEach((db, c) => {
      for (let i = 0; i < 100; i++) {
        const key = `c${c}i${i}`
        set(ref(db, `x/${key}`), { c, i }).then(() => {
          acknowledged.add(key)
          if (acknowledged.size === 150) enough()
        })
      }
    })
    await within(reached, '150 acknowledgements')
    const killed = server.kill()
    for (const db of clients) goOffline(db) // they would send the rest again
    await killed
    await server.start()
    const kept = Object.keys(await s.rest('GET', 'x'))
    const lost = [...acknowledged].filter(key => !kept.includes(key))
    assert.deepEqual(lost, [])
  })

  test('a multi-path update is there whole or not at all', async t => {
    const server = await durableServer(t)
    const s = scene(t, server)
    const db = s.client()
    await set(ref(db, 'a/n'), 0)
    await set(ref(db, 'z/n'), 0)
    for (let round = 0; round < 3; round++) {
      const writes = Array.from({ length: 50 }, (_, i) =>
        update(ref(db, '/'), { 'a/n': round * 50 + i, 'm/x': 'y'.repeat(500), 'z/n': round * 50 + i }))
      await writes[10 * round] // some are answered, the others under way
      await server.kill()
      const { a, z } = await server.start().then(() => s.rest('GET', ''))
      assert.equal(a.n, z.n)
      await within(Promise.all(writes), 'the rest, after the restart')
    }
    const { a, z } = await s.rest('GET', '')
    assert.deepEqual([a.n, z.n], [149, 149])
  })

  test('a stop in order keeps everything as well', async t => {
    const server = await durableServer(t)
    const one = scene(t, server)
    const two = scene(t, server)
    await set(ref(one.client(), 'x'), 'one')
    await set(ref(two.client(), 'x'), 'two')
    await server.stop()
    await server.start()
    assert.equal(await one.rest('GET', 'x'), 'one')
    assert.equal(await two.rest('GET', 'x'), 'two')
  })
})
