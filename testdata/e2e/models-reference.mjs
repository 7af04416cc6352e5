// What a data model's tree must be after a write, and what must hold of it, on
// plain objects. It shares no code with the server.

import { isDeepStrictEqual } from 'node:util'

const split = path => path.split('/').filter(Boolean)

const isObject = value => typeof value === 'object' && value !== null

const at = (node, keys) => keys.reduce((n, key) => (isObject(n) ? n[key] : undefined) ?? null, node)

/** The node at a path, null if there is none. */
export const nodeAt = (tree, path) => at(tree, split(path))

/** The tree after `value`, resolved at the time `now`, was written to a path. */
export function written(tree, path, value, now) {
  return put(tree, split(path), resolved(value, nodeAt(tree, path), now))
}

/** The tree after several paths below `base` were written. */
export function updated(tree, base, values, now) {
  return Object.entries(values).reduce((t, [path, value]) => written(t, `${base}/${path}`, value, now), tree)
}

// resolved replaces server values, and drops what is null.
function resolved(value, existing, now) {
  if (!isObject(value)) return value
  if (value['.sv'] === 'timestamp') return now
  if (value['.sv']) return (typeof existing === 'number' ? existing : 0) + value['.sv'].increment
  return object(Object.entries(value).map(([key, v]) => [key, resolved(v, at(existing, [key]), now)]))
}

function put(node, [key, ...rest], value) {
  if (key === undefined) return value
  return object(Object.entries({ ...(isObject(node) && node), [key]: put(at(node, [key]), rest, value) }))
}

function object(entries) {
  const present = entries.filter(([, value]) => value !== null)
  return present.length > 0 ? Object.fromEntries(present) : null
}

/** The ids of the invariants that do not hold of a tree. */
export function broken(invariants, tree) {
  return invariants.filter(v => !holds[v.kind](v, tree)).map(v => v.id)
}

const exists = value => value !== null

/** The invariants of a form: it has some of its own, and others in place of those of the same id. */
export function invariantsOf(model, own = []) {
  const others = model.map(v => own.find(({ id }) => id === v.id) ?? v)
  return [...others, ...own.filter(({ id }) => !model.some(v => v.id === id))]
}

/** A tree without the places that patterns lead to. */
export function without(tree, patterns = []) {
  return patterns.reduce((t, pattern) => taken(t, split(pattern)), tree)
}

function taken(node, [key, ...rest]) {
  if (key === undefined) return null
  if (!isObject(node)) return node
  return object(Object.entries(node).map(([k, v]) => [k, k === key || key.startsWith('$') ? taken(v, rest) : v]))
}

// implies: whatever fits `from` has something at each of `to`.
const implies = (tree, from, ...to) => all(tree, from, m => to.every(pattern => exists(m.get(pattern))))

// One function for each kind of invariant. In its patterns $x binds a key, *
// fits any key, {f} stands for the field f of what was found, {} for its value.
const holds = {
  inverse: (v, tree) => implies(tree, v.a, v.b) && implies(tree, v.b, v.a),
  ref: (v, tree) => implies(tree, v.from, v.to),
  refValue: (v, tree) => all(tree, v.from, m => exists(m.get(v.to, v.lower ? String(m.node).toLowerCase() : m.node))),
  equal: (v, tree) => all(tree, v.a, m => {
    const other = m.get(v.b)
    return isDeepStrictEqual(m.node, other) || (v.ifExists === true && !exists(other))
  }),
  copy: (v, tree) => all(tree, v.each, m => {
    const copied = at(m.node, split(v.field))
    return !exists(copied) || isDeepStrictEqual(copied, m.get(v.of))
  }),
  excludes: (v, tree) => all(tree, v.a, m => !exists(m.get(v.b))),
  count: (v, tree) => all(tree, v.counter, m => {
    const counted = [...matches(tree, v.over, m.vars)]
      .filter(o => !v.where || at(o.node, [v.where.child]) === m.vars[v.where.equalsVar])
    return m.node === counted.length
  }),
  atLeast: (v, tree) => all(tree, v.each, m => {
    const counter = m.get(v.counter)
    return typeof counter === typeof m.node && counter >= m.node
  }),
  max: (v, tree) => all(tree, v.over, m => Object.keys(m.node).length <= v.limit),
  required: (v, tree) => all(tree, v.each, m => v.fields.every(field => exists(at(m.node, [field])))),
  fan: (v, tree) => implies(tree, v.each, ...v.to),
  varEquals: (v, tree) => all(tree, v.from, m => !chosen(v, m) || m.get(v.path) === m.vars[v.var]),
  valueEquals: (v, tree) => all(tree, v.from, m => m.get(v.path) === v.value),
  inverseValue: (v, tree) => namedBack(tree, v.a, v.b, lower(v.lower), String) && namedBack(tree, v.b, v.a, String, lower(v.lower)),
  key: (v, tree) => all(tree, v.each, m => !chosen(v, m) || m.key === made(v, m))
}

// chosen: a node is one of those that `where` speaks of.
const chosen = ({ where }, m) => !where || at(m.node, split(where.child)) === where.equals

const lower = yes => value => (yes ? String(value).toLowerCase() : String(value))

// namedBack: the value of each side is a key of the other one, which names it back.
function namedBack(tree, from, to, change, changeBack) {
  const own = (pattern, other) => split(pattern).find(key => key.startsWith('$') && !split(other).includes(key))
  return all(tree, from, m => {
    if (isObject(m.node)) return false
    const other = at(tree, split(to).map(key => (key === own(to, from) ? change(m.node) : m.vars[key] ?? key)))
    return exists(other) && !isObject(other) && changeBack(other) === m.vars[own(from, to)]
  })
}

// made: the key that the fields of a node make, null if one is missing.
function made({ is, replace }, { node }) {
  const fields = [...is.matchAll(/{(.*?)}/g)].map(([, name]) => (name === '' ? node : at(node, [name])))
  if (fields.some(value => !exists(value) || isObject(value))) return null
  const inserted = fields.map(value => (replace ? String(value).replaceAll(...replace) : String(value)))
  return is.replaceAll(/{.*?}/g, () => inserted.shift())
}

function all(tree, pattern, test) {
  for (const m of matches(tree, pattern)) if (!test(m)) return false
  return true
}

/** What fits a pattern: the node, its key, the keys that were bound, and a look elsewhere. */
function* matches(tree, pattern, vars = {}) {
  for (const [node, bound, key] of found(tree, split(pattern), vars)) {
    yield { node, key, vars: bound, get: (other, record = node) => at(tree, split(other).map(key => filled(key, bound, record))) }
  }
}

function* found(node, [key, ...rest], vars, last) {
  if (!exists(node)) return
  if (key === undefined) return yield [node, vars, last]
  if (key !== '*' && !(key.startsWith('$') && !(key in vars))) {
    return yield* found(at(node, [vars[key] ?? key]), rest, vars, vars[key] ?? key)
  }
  for (const [k, child] of Object.entries(isObject(node) ? node : {})) {
    yield* found(child, rest, key === '*' ? vars : { ...vars, [key]: k }, k)
  }
}

function filled(key, vars, record) {
  if (key === '{}') return record
  if (key.startsWith('{')) return at(record, [key.slice(1, -1)])
  return vars[key] ?? key
}

/** The tree without one leaf, once for each leaf. */
export function* damaged(tree, node = tree, path = '') {
  if (!isObject(node)) return yield written(tree, path, null, 0)
  for (const [key, child] of Object.entries(node)) yield* damaged(tree, child, `${path}/${key}`)
}
