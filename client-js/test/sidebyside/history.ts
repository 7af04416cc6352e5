// Random histories: lists of steps that any client library can be led through.

/** A small generator of pseudo-random numbers, the same everywhere. */
export function random(seed: number) {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
  const below = (n: number) => Math.floor(next() * n)
  const pick = <T>(list: readonly T[]): T => list[below(list.length)]!
  return { next, below, pick, chance: (p: number) => next() < p }
}

type Random = ReturnType<typeof random>

export type Constraint = readonly [name: string, ...args: unknown[]]

export type Step = { client: number } & (
  | { op: 'listen'; id: number; type: string; path: string; query: Constraint[]; once: boolean }
  | { op: 'unlisten'; id: number }
  | { op: 'off'; path: string; query: Constraint[]; type?: string }
  | { op: 'set'; path: string; value: unknown }
  | { op: 'setPriority'; path: string; priority: unknown }
  | { op: 'update'; path: string; values: Record<string, unknown> }
  | { op: 'transaction'; path: string; kind: string; local: boolean }
  | { op: 'get'; path: string; query: Constraint[] }
  | { op: 'later'; path: string; kind: string; value: unknown }
  | { op: 'react'; id: number; path: string; value: unknown }
  | { op: 'flush'; count: number }
  | { op: 'deliver'; count: number }
  | { op: 'offline' }
  | { op: 'online' }
)

const types = ['value', 'child_added', 'child_changed', 'child_moved', 'child_removed']
const keys = ['a', 'b', 'c', '1', '2']

// What is below d can be read, what is below e depends on data in both.
const base = (r: Random): string => (r.chance(0.85) ? 'd' : 'e')

function path(r: Random, depth = 1 + r.below(3)): string {
  return [base(r), ...Array.from({ length: depth }, () => r.pick(keys))].join('/')
}

// Listening also happens at the base, and where it is forbidden.
function place(r: Random): string {
  if (r.chance(0.03)) return r.pick(['secret', ''])
  return r.chance(0.5) ? base(r) : path(r, 1 + r.below(2))
}

function value(r: Random, depth = 0): unknown {
  const kind = r.below(12)
  if (kind < 4) return r.below(6)
  if (kind < 5) return r.pick(['s', 't', ''])
  if (kind < 6) return r.chance(0.5)
  if (kind < 7) return null
  if (kind < 8) return r.chance(0.3) ? 'no' : { '.value': r.below(4), '.priority': r.pick([1, 2, 'p']) }
  if (kind < 9 && depth === 0) return { '.sv': { increment: r.below(3) } }
  if (depth > 1) return r.below(6)
  const object: Record<string, unknown> = {}
  for (let i = r.below(4); i >= 0; i--) object[r.pick(keys)] = value(r, depth + 1)
  if (r.chance(0.15)) object['.priority'] = r.pick([1, 2, 3, 'p'])
  return object
}

function query(r: Random): Constraint[] {
  const result: Constraint[] = []
  const order = r.pick([
    '',
    '',
    'orderByKey',
    'orderByValue',
    'orderByPriority',
    'orderByChild',
    'orderByChild'
  ])
  if (order === 'orderByChild') result.push([order, r.pick(['a', 'b', 'a/b'])])
  else if (order) result.push([order])
  const bound = () =>
    order === 'orderByKey'
      ? r.pick(keys)
      : order && order !== 'orderByPriority'
        ? r.pick([1, 2, 3, 's', null])
        : r.pick([1, 2, 'p'])
  const kind = r.below(8)
  if (kind === 0) result.push(['startAt', bound()])
  if (kind === 1) result.push(['endAt', bound()])
  if (kind === 2) result.push(['equalTo', bound()])
  if (kind === 3) result.push(['startAfter', bound()])
  if (kind === 4) result.push(['endBefore', bound()])
  if (r.chance(0.6)) result.push([r.pick(['limitToFirst', 'limitToLast']), 1 + r.below(3)])
  return result
}

function values(r: Random): Record<string, unknown> {
  const result: Record<string, unknown> = {}
  for (let i = r.below(3); i >= 0; i--) {
    const path = Array.from({ length: r.chance(0.25) ? 2 : 1 }, () => r.pick(keys)).join('/')
    const inTheWay = Object.keys(result).some(
      other => `${other}/`.startsWith(`${path}/`) || `${path}/`.startsWith(`${other}/`)
    )
    if (!inTheWay) result[path] = value(r, 1)
  }
  return result
}

/** The history of a seed. `clients` take turns at random. */
export function history(seed: number, clients: number, length: number): Step[] {
  const r = random(seed)
  const steps: Step[] = []
  const live: { id: number; client: number }[] = []
  const online = Array.from({ length: clients }, () => true)
  let ids = 0
  while (steps.length < length) {
    const client = r.below(clients)
    const kind = r.below(120)
    if (kind < 18) {
      const id = ++ids
      const where = place(r)
      steps.push({
        client,
        op: 'listen',
        id,
        type: r.pick(types),
        path: where,
        query: r.chance(0.5) ? query(r) : [],
        once: r.chance(0.05)
      })
      live.push({ id, client })
    } else if (kind < 22 && live.length) {
      const [gone] = live.splice(r.below(live.length), 1)
      steps.push({ op: 'unlisten', ...gone! })
    } else if (kind < 23)
      steps.push({
        client,
        op: 'off',
        path: place(r),
        query: [],
        type: r.chance(0.5) ? r.pick(types) : undefined
      })
    else if (kind < 38) steps.push({ client, op: 'set', path: path(r), value: value(r) })
    else if (kind < 41)
      steps.push({ client, op: 'setPriority', path: path(r), priority: r.pick([1, 2, 'p', null]) })
    else if (kind < 51)
      steps.push({ client, op: 'update', path: r.chance(0.5) ? base(r) : path(r, 1), values: values(r) })
    else if (kind < 56)
      steps.push({
        client,
        op: 'transaction',
        path: path(r),
        kind: r.pick(['add', 'object', 'remove', 'none', 'refuse', 'no']),
        local: r.chance(0.7)
      })
    else if (kind < 58)
      steps.push({ client, op: 'get', path: place(r), query: r.chance(0.5) ? query(r) : [] })
    else if (kind < 60)
      steps.push({
        client,
        op: 'later',
        path: path(r),
        kind: r.pick(['set', 'update', 'cancel', 'remove']),
        value: value(r, 1)
      })
    else if (kind < 62 && live.length)
      steps.push({ ...r.pick(live), op: 'react', path: path(r), value: value(r, 1) })
    else if (kind < 88) steps.push({ client, op: 'flush', count: r.chance(0.3) ? 1 + r.below(2) : 1000 })
    else if (kind < 117) steps.push({ client, op: 'deliver', count: r.chance(0.5) ? 1 + r.below(3) : 1000 })
    else if (kind < 120) {
      steps.push({ client, op: online[client] ? 'offline' : 'online' })
      online[client] = !online[client]
    }
  }
  return steps
}
