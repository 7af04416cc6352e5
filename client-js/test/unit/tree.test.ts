import { describe, expect, test } from 'vitest'
import { withChild, withPath } from '../../src/core/change.js'
import { hashNode } from '../../src/core/hash.js'
import { compareKeys } from '../../src/core/key.js'
import { EMPTY, leaf, Node, nodeFromJSON } from '../../src/core/node.js'
import { childIndex, type Index, KEY, PRIORITY, VALUE } from '../../src/core/order.js'
import { parsePath } from '../../src/core/path.js'
import { pushId } from '../../src/core/pushid.js'
import { estimate } from '../../src/core/servervalue.js'
import { isKey } from '../../src/core/validate.js'
import { Writes } from '../../src/core/writes.js'
import { random } from '../sidebyside/history.js'
import { vectors } from './vectors.js'

const shuffled = <T>(list: readonly T[], seed: number): T[] => {
  const r = random(seed)
  return list
    .map(item => [r.next(), item] as const)
    .sort((a, b) => a[0] - b[0])
    .map(([, item]) => item)
}

const keysIn = (node: Node, index: Index): string[] => node.ordered(index).map(([key]) => key)

describe('recorded behaviour', () => {
  test('order of keys', () => {
    const sorted: string[] = vectors('key-order').sorted.map((entry: any) => entry.key)
    // "-0" and "00" are one key to the official client; bytes decide here.
    const plain = sorted.filter(key => key !== '-0')
    for (let seed = 1; seed < 20; seed++) expect(shuffled(plain, seed).sort(compareKeys)).toEqual(plain)
  })

  test('order of values', () => {
    const { byValue, byPriority, byChild_f_g } = vectors('value-order')
    const node = (list: any[], make: (entry: any) => Node) =>
      shuffled(list, 7).reduce((node: Node, entry) => withChild(node, entry.key, make(entry)), EMPTY)
    const keys = (list: any[]) => list.map(entry => entry.key)
    const stored = byValue.filter((entry: any) => entry.value !== null)
    expect(
      keysIn(
        node(stored, e => nodeFromJSON(e.value)),
        VALUE
      )
    ).toEqual(keys(stored))
    expect(
      keysIn(
        node(byPriority, e => nodeFromJSON(1, e.priority)),
        PRIORITY
      )
    ).toEqual(keys(byPriority))
    const children = byChild_f_g.filter((entry: any) => !nodeFromJSON(entry.value).empty)
    expect(
      keysIn(
        node(children, e => nodeFromJSON(e.value)),
        childIndex(['f', 'g'])
      )
    ).toEqual(keys(children))
  })

  test('hashes', () => {
    for (const { value, hash } of vectors('hash').cases) expect(hashNode(nodeFromJSON(value))).toBe(hash)
  })

  test('arrays', () => {
    for (const { stored, val, export: exported } of vectors('array-coercion').cases) {
      expect(JSON.parse(JSON.stringify(nodeFromJSON(stored).toJSON()))).toEqual(val)
      expect(nodeFromJSON(stored).toJSON(true)).toEqual(exported)
    }
  })

  test('normal form', () => {
    for (const { input, export: exported, isEmpty } of vectors('normalize').cases) {
      expect(nodeFromJSON(input).toJSON(true)).toEqual(exported)
      expect(nodeFromJSON(input).empty).toBe(isEmpty)
    }
  })

  test('server values', () => {
    for (const { write, existing, resolved } of vectors('server-values').cases) {
      const before = nodeFromJSON(existing)
      expect(estimate(nodeFromJSON(write), 1_700_000_000_000, path => before.at(path)).toJSON(true)).toEqual(
        resolved
      )
    }
  })

  test('push ids', () => {
    const { cases } = vectors('push-id')
    for (const { now, id } of cases) {
      const digits = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 62, 63]
      expect(pushId(now, () => digits.shift()! / 64)).toBe(id)
    }
  })

  test('push ids never go back', () => {
    const now = 3e12
    const times = [now, now - 3_600_000, 5, now, now + 1]
    const ids = times.map(time => pushId(time, () => 0.5))
    expect(ids).toEqual([...new Set(ids)].sort())
    // No clock is so slow that all random digits are used up, but keys do not wrap.
    const full = pushId(now + 2, () => 0.999)
    expect(pushId(now + 2) > full).toBe(true)
  })

  test('valid keys', () => {
    for (const { key, sdkValid } of vectors('key-validity').cases) expect(isKey(key)).toBe(sdkValid)
  })
})

describe('a node', () => {
  test('keeps its orders through changes', () => {
    const r = random(42)
    const orders = [KEY, VALUE, PRIORITY, childIndex(['x'])]
    let node = EMPTY
    for (let i = 0; i < 2000; i++) {
      const value = r.pick([
        null,
        r.below(5),
        's',
        { x: r.below(3) },
        { '.value': 1, '.priority': r.below(3) }
      ])
      node = withChild(node, `k${r.below(20)}`, nodeFromJSON(value))
      const index = r.pick(orders)
      const fresh = new Node(null, null, node.kids)
      expect(keysIn(node, index)).toEqual(keysIn(fresh, index))
    }
  })

  test('that loses its last child is nothing, priority included', () => {
    const node = nodeFromJSON({ a: 1, '.priority': 2 })
    expect(withChild(node, 'a', EMPTY)).toBe(EMPTY)
  })

  test('with a value gets children and keeps its priority', () => {
    const node = nodeFromJSON({ '.value': 5, '.priority': 2 })
    expect(withPath(node, parsePath('a/b'), leaf(1)).toJSON(true)).toEqual({ a: { b: 1 }, '.priority': 2 })
    expect(withPath(node, parsePath('a/b'), EMPTY)).toBe(node)
  })
})

test('a write that is not there takes no other with it', () => {
  const writes = new Writes()
  writes.add({ id: 1, path: ['a'], merge: false, changes: [[['a'], leaf(1)]], visible: true })
  expect(writes.remove(2)).toBe(undefined)
  expect(writes.latest(['a'], null, []).value).toBe(1)
  expect(writes.remove(1)?.id).toBe(1)
})
