import { invalid } from './errors.js'
import { formatPath, Located, type Path, parsePath } from './path.js'

const badKey = /[.#$[\]/\0-\x1f\x7f]/
const badPath = /[.#$[\]\0-\x1f\x7f]/

// In the words of the command line.
const KEYS = 'keys have no . $ # [ ] / and no control characters'

const MAX_DEPTH = 32

export const isKey = (key: unknown): boolean => typeof key === 'string' && key !== '' && !badKey.test(key)

/** Refuses a callback that is not there, when it is given and not when it is called. */
export function checkCallback(callback: unknown): void {
  if (typeof callback !== 'function') invalid('expected a function as callback')
}

/** Parses a path given by the user. The root also has `.info`. */
export function checkPath(text: string, parent: Path): Path {
  if (typeof text !== 'string') invalid(`a path is a string, not of type ${typeof text}`)
  const plain = parent.length ? text : text.replace(/^\/*\.info(?=\/|$)/, '')
  if (!text || badPath.test(plain)) invalid(text ? `bad path "${text}": ${KEYS}` : 'the path is empty')
  return [...parent, ...parsePath(text)]
}

/** Refuses a priority that is not a string, a finite number, a server value or null. */
export function checkPriority(value: unknown): void {
  const fine =
    typeof value === 'object' ? !value || '.sv' in value : typeof value === 'string' || Number.isFinite(value)
  if (!fine) invalid(`bad priority ${value}`)
}

/** Refuses what cannot be written at `path`. Sizes are left to the server. */
export function checkValue(value: unknown, path: Path): void {
  if (path[0] === '.info') invalid('.info is read-only')
  if (path.at(-1) === '.priority') checkPriority(value)
  checkDeep(value, path)
}

/**
 * Names an object that is no value: written as an object, it would delete what is there or
 * leave its insides. Values are arrays, plain objects of any realm, and objects of classes
 * that a program declares for its data.
 */
export function foreignKind(value: unknown): string | undefined {
  if (!value || typeof value !== 'object' || Array.isArray(value)) return
  const proto = Object.getPrototypeOf(value)
  if (!proto || !Object.getPrototypeOf(proto)) return
  if (value instanceof Located) return `a reference (use its path "${formatPath(value.path)}")`
  const tag = Object.prototype.toString.call(value).slice(8, -1)
  const isPromise = typeof (value as { then?: unknown }).then === 'function'
  // What the runtime brings is named after a global; data has members.
  const builtin = tag !== 'Object' && tag in globalThis
  if (!isPromise && !builtin && Object.keys(value).length) return
  const hint = isPromise
    ? 'await it'
    : tag === 'Date'
      ? 'use date.getTime() or serverTimestamp()'
      : 'use a plain object or a primitive'
  return `an object of class ${value.constructor?.name || tag} (${hint})`
}

// keyHint says why a key cannot be written beside the others.
const keyHint = (key: string, isLeaf: unknown): string =>
  isKey(key) && isLeaf ? 'a .value has no children' : key ? KEYS : 'keys are not empty'

function checkDeep(value: unknown, path: Path): void {
  const fail = (what: unknown) => invalid(`cannot write ${what} at ${formatPath(path)}`)
  if (path.length > MAX_DEPTH)
    invalid(`${formatPath(path)} is too deep: a path has at most ${MAX_DEPTH} keys`)
  const type = typeof value
  if (!Number.isFinite(value) && !/^(boolean|object|string)$/.test(type))
    fail(type === 'number' ? value : type)
  if (type !== 'object') return
  const foreign = foreignKind(value)
  if (foreign) fail(foreign)
  const isLeaf = value && '.value' in (value as object)
  for (const key of Object.keys(value ?? {})) {
    if (isKey(key) ? isLeaf : !/^\.(value|priority|sv)$/.test(key))
      invalid(`cannot write key "${key}" at ${formatPath(path)}: ${keyHint(key, isLeaf)}`)
    checkDeep((value as Record<string, unknown>)[key], [...path, key])
  }
}

/**
 * Refuses updates with bad values, or with paths that contain each other.
 * Returns the paths, from the root, in the order of the values.
 */
export function checkUpdate(values: object, path: Path): readonly Path[] {
  if (!values || typeof values !== 'object' || Array.isArray(values) || foreignKind(values))
    invalid('an update is a plain object')
  const paths = Object.keys(values).map(key => [...path, ...parsePath(key)])
  Object.values(values).forEach((value, i) => {
    const at = paths[i]!
    checkValue(value, at)
    const keys = at.at(-1) === '.priority' ? at.slice(0, -1) : at
    if (!keys.every(isKey)) invalid(`bad path "${formatPath(at)}": ${KEYS}`)
  })
  const seen = new Set<string>()
  for (const at of [...paths].sort((a, b) => a.length - b.length)) {
    for (let n = path.length; n <= at.length; n++) {
      const place = formatPath(at.slice(0, n))
      if (seen.has(place)) invalid(`two writes at ${place}`)
    }
    seen.add(formatPath(at))
  }
  return paths
}
