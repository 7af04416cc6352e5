// Values of megabytes, in both directions, cut into frames and put together.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { get, goOffline, goOnline, limitToLast, orderByKey, query, ref, set, update } from 'firebase/database'
import { values, within } from './events.mjs'
import { scene, sharedServer } from './harness.mjs'

// Below tier long, two fifths of it.
const long = process.env.DOGWOOD_TIER === 'long'
const TEXT = (long ? 5 : 2) * 1024 * 1024
const CHILDREN = long ? 50_000 : 20_000 // of a hundred bytes each
const FRAME = 16384 // in UTF-16 units; the largest piece any client may get

suite('large values', () => {
  const server = sharedServer()

  test(`a text of ${TEXT} characters`, async t => {
    const s = scene(t, server)
    const { db, proxy } = await s.proxied()
    const seen = values(ref(s.client(), 'x'), snap => snap.val()?.length ?? null)
    await seen.reaches(null)
    // Three bytes per unit somewhere, quotes to escape elsewhere.
    const text = '0123456789 "東京" \\ ä '.repeat(Math.ceil(TEXT / 20)).slice(0, TEXT)
    await within(set(ref(db, 'x'), text), 'acknowledgement of the text')
    await seen.reaches(TEXT)

    const reader = await s.proxied()
    assert.ok((await get(ref(reader.db, 'x'))).val() === text, 'the same text')
    checkFrames(reader.proxy)
    checkFrames(proxy)
  })

  test(`an object with ${CHILDREN} children`, async t => {
    const s = scene(t, server)
    const writer = s.client()
    const name = i => `child${String(i).padStart(6, '0')}`
    const value = {}
    for (let i = 0; i < CHILDREN; i++) {
      value[name(i)] = { n: i, text: `text of child ${i}, long enough to make a hundred bytes of it all` }
    }
    const { db, proxy } = await s.proxied()
    const seen = values(ref(db, 'x'), snap => snap.size)
    await seen.reaches(0)
    await within(set(ref(writer, 'x'), value), 'acknowledgement of all children')
    await seen.reaches(CHILDREN)
    checkFrames(proxy)

    const window = values(query(ref(s.client(), 'x'), orderByKey(), limitToLast(2)), snap => snap.val())
    const [third, second, last] = [3, 2, 1].map(n => name(CHILDREN - n))
    await window.reaches({ [second]: value[second], [last]: value[last] })
    await update(ref(writer, 'x'), { [last]: null, 'child000000/n': 'changed' })
    await seen.reaches(CHILDREN - 1)
    await window.reaches({ [third]: value[third], [second]: value[second] })
    const want = { ...value, child000000: { ...value.child000000, n: 'changed' } }
    delete want[last]
    assert.deepEqual((await get(ref(db, 'x'))).val(), want)
  })

  test('pieces are cut between characters, whatever the alignment', async t => {
    const s = scene(t, server)
    // One unit more or less of padding puts every cut inside a surrogate pair
    // or between two of them.
    for (const padding of ['', 'x', 'xx', 'xxx']) {
      const text = padding + '😀👩‍👩‍👧'.repeat(20_000)
      await s.rest('PUT', 'x', text)
      const { db, proxy } = await s.proxied()
      const seen = values(ref(db, 'x'))
      await seen.count(1)
      assert.ok(seen.last === text, `listener, padding ${padding.length}`)
      seen.stop()
      const snap = await get(ref(s.client(), 'x'))
      assert.ok(snap.val() === text, `get, padding ${padding.length}`)
      checkFrames(proxy)
    }
  })

  test('sizes around the frame limit', async t => {
    const s = scene(t, server)
    const { db, proxy } = await s.proxied()
    const seen = values(ref(db, 'x'), snap => snap.val()?.length ?? 0)
    await seen.reaches(0)
    for (let size = FRAME - 100; size <= FRAME + 20; size += 5) {
      await s.rest('PUT', 'x', 'y'.repeat(size))
      await seen.reaches(size)
      await set(ref(db, 'x'), 'z'.repeat(size + 1))
      await seen.reaches(size + 1)
    }
    checkFrames(proxy)
  })

  test('digits alone are data, not a count of pieces', async t => {
    const s = scene(t, server)
    const { db, proxy } = await s.proxied()
    const seen = values(ref(db, 'x'))
    await seen.reaches(null)
    const digits = '0123456789'.repeat(FRAME)
    await set(ref(db, 'x'), digits)
    assert.ok((await get(ref(s.client(), 'x'))).val() === digits)
    await s.rest('PUT', 'x', `1${digits}`)
    await seen.until(items => items.at(-1) === `1${digits}`, 'the longer text')
    checkFrames(proxy)
  })

  test('megabytes are not sent again after a reconnect', async t => {
    const s = scene(t, server)
    await s.rest('PUT', 'x', Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`k${i}`, 'z'.repeat(1000)])))
    const { db, proxy } = await s.proxied()
    await values(ref(db, 'x'), snap => snap.size).reaches(1000)
    goOffline(db)
    const before = proxy.frames.items.length
    goOnline(db)
    const listen = await proxy.messages.find(m => m.from === 'client' && m.body.b?.h, 'the listen with a hash')
    await proxy.messages.find(m => m.conn === listen.conn && m.body.r === listen.body.r && m.from === 'server')
    const sent = proxy.frames.items.slice(before).filter(frame => frame.from === 'server')
    assert.ok(sent.reduce((sum, frame) => sum + frame.text.length, 0) < 2000)
  })
})

// checkFrames looks at every text message that a server sent: none above the
// limit, none that a client would take for the end of the world ("" and "0"),
// none with half a character, and no more pieces than a count can say.
function checkFrames(proxy) {
  for (const { from, text } of proxy.frames.items) {
    if (from !== 'server') continue
    assert.ok(text.length <= FRAME, `a frame of ${text.length} units`)
    assert.ok(text !== '' && text !== '0', `the frame ${JSON.stringify(text)}`)
    assert.ok(!text.includes('\ufffd'), 'a broken character')
    if (/^\d{1,6}$/.test(text)) assert.ok(Number(text) <= 9999, `${text} pieces`)
  }
}
