// How observations are written down.

import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'

/** Fails if `object` has a member that nobody would look at. */
export function only(object, ...members) {
  const others = Object.keys(object).filter(key => !members.includes(key))
  assert.deepEqual(others, [], 'members that this runner does not know')
  return object
}

/** The one member of an object, as [name, value]. */
export function single(object) {
  const [member, ...others] = Object.entries(object)
  assert.equal(others.length, 0, `one member: ${JSON.stringify(object)}`)
  return member
}

/** Reports whether a snapshot of the root has what is recorded for `after`. */
export function shows(snap, after) {
  return expected(after).every(({ path, format, equals }) => {
    const child = snap.child(path)
    return equals(format === 'export' ? child.exportVal() : child.val())
  })
}

/**
 * The member `after` of an observation: places and their values. "/x (export)"
 * is the value with its priorities. Some values are in words.
 */
export function expected(after) {
  return Object.entries(after).map(([key, want]) => {
    const [, path, format] = /^(\S+)(?: \((\w+)\))?$/.exec(key)
    const equals = want === 'integer ms since 1970' ? isTime : got => isDeepStrictEqual(got, want)
    return { path, format, equals, want }
  })
}

function isTime(value) {
  return Number.isInteger(value) && Math.abs(value - Date.now()) < 60_000
}
