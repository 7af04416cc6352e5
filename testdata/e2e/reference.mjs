// What a query must return, worked out the plain way: sort everything, cut the
// range, take the limit. A spec says it in data, so that a test can turn the
// same spec into a client's query and into the expected keys:
//
//   { by: 'child', path: 'score', start: { value: 3, key: 'b', open: true },
//     end: { value: 9 }, first: 10 }
//
// `open` excludes the bound itself (startAfter, endBefore), `equal` replaces
// both bounds, `first` and `last` are the limits.

import {
  endAt, endBefore, equalTo, limitToFirst, limitToLast, orderByChild, orderByKey,
  orderByPriority, orderByValue, query, startAfter, startAt
} from 'firebase/database'

/** Orders keys: 32-bit integers by number, then the rest by UTF-16 unit. */
export function compareKeys(a, b) {
  const x = integer(a)
  const y = integer(b)
  if (x !== null && y !== null) return x - y || a.length - b.length
  if (x !== null) return -1
  if (y !== null) return 1
  return a < b ? -1 : a > b ? 1 : 0
}

function integer(key) {
  if (!/^-?0*\d{1,10}$/.test(key)) return null
  const n = Number(key)
  return n >= -2147483648 && n <= 2147483647 ? n : null
}

/** Orders values: null, false, true, numbers, strings, then all objects. */
export function compareValues(a, b) {
  const x = rank(a)
  const y = rank(b)
  if (x !== y || x < 3 || x === 5) return x - y
  return a < b ? -1 : a > b ? 1 : 0
}

function rank(v) {
  if (v === null || v === undefined) return 0
  if (typeof v === 'boolean') return v ? 2 : 1
  return { number: 3, string: 4, object: 5 }[typeof v]
}

/**
 * The keys that `spec` selects, in order. `nodes` maps each key to its value;
 * a priority is written as in an export, with ".priority" and ".value".
 */
export function select(nodes, spec) {
  const compare = (a, b) => compareValues(a.index, b.index) || compareKeys(a.key, b.key)
  const byKey = spec.by === 'key'
  const order = byKey ? (a, b) => compareKeys(a.key, b.key) : compare
  let list = Object.entries(nodes)
    .map(([key, node]) => ({ key, index: byKey ? key : indexValue(node, spec) }))
    .sort(order)

  const { start = spec.equal, end = spec.equal } = spec
  // versus says on which side of a bound a child lies. A bound without a key
  // stands for all keys of its value.
  const versus = (child, bound) => {
    if (byKey) return compareKeys(child.key, bound.value)
    const c = compareValues(child.index, bound.value)
    return c || (bound.key === undefined ? 0 : compareKeys(child.key, bound.key))
  }
  if (start) list = list.filter(child => (start.open ? versus(child, start) > 0 : versus(child, start) >= 0))
  if (end) list = list.filter(child => (end.open ? versus(child, end) < 0 : versus(child, end) <= 0))
  if (spec.first) list = list.slice(0, spec.first)
  if (spec.last) list = list.slice(-spec.last)
  return list.map(child => child.key)
}

function indexValue(node, { by, path }) {
  const object = typeof node === 'object' && node !== null
  if (by === 'priority') return object ? node['.priority'] : null
  if (by === 'value') return object && '.value' in node ? node['.value'] : node
  return path.split('/').reduce((v, key) => (typeof v === 'object' ? v?.[key] : null), node) ?? null
}

/** The client's query for `spec`. */
export function toQuery(ref, spec) {
  const order = {
    key: orderByKey, value: orderByValue, priority: orderByPriority, child: () => orderByChild(spec.path)
  }[spec.by]()
  const bound = ({ value, key }) => (key === undefined ? [value] : [value, key])
  const constraints = [order]
  if (spec.start) constraints.push((spec.start.open ? startAfter : startAt)(...bound(spec.start)))
  if (spec.end) constraints.push((spec.end.open ? endBefore : endAt)(...bound(spec.end)))
  if (spec.equal) constraints.push(equalTo(...bound(spec.equal)))
  if (spec.first) constraints.push(limitToFirst(spec.first))
  if (spec.last) constraints.push(limitToLast(spec.last))
  return query(ref, ...constraints)
}

/** A small seeded generator: the same numbers in every run. */
export function random(seed) {
  return below => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
    return Math.floor((seed / 2 ** 32) * below)
  }
}
