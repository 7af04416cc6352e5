import { formatPath, isWithin, type Path, parsePath } from '../core/path.js'

/** An onDisconnect operation of a client, as it is sent: `o` or `om`, its path and its data. */
interface Plan<Client> {
  readonly client: Client
  readonly action: string
  readonly path: Path
  readonly data: unknown
}

/** A request of the protocol about such an operation. */
type Body = { p: string; d: unknown }

/**
 * The onDisconnect operations of the clients that share a connection, in the order in which they were
 * made. To the server they are those of one session, so what one client cancels is gone for all.
 */
export class Plans<Client> {
  private list: Plan<Client>[] = []

  /** Takes note of an operation that a client sends, or of what it cancels. */
  note(client: Client, action: string, { p, d }: Body): void {
    const path = parsePath(p)
    const places =
      action === 'om' ? Object.keys(d as object).map(key => [...path, ...parsePath(key)]) : [path]
    for (const place of places)
      this.list = this.list.flatMap(plan =>
        plan.client === client ? cut(plan, place, action === 'oc') : plan
      )
    if (action !== 'oc') this.list.push({ client, action, path, data: d })
  }

  /** Removes the operations of a client, and returns them. */
  take(client: Client): [action: string, body: Body][] {
    const own = this.list.filter(plan => plan.client === client)
    this.list = this.list.filter(plan => plan.client !== client)
    return own.map(asSent)
  }

  /**
   * What has to be sent again after `client` has cancelled what is at and below paths, because that
   * was also of others. An operation above replaces all below it when it is sent again, so all
   * of that follows, in order.
   */
  after(client: Client, paths: readonly string[]): [action: string, body: Body][] {
    const tops = paths
      .map(parsePath)
      .map(path => this.list.reduce((top, plan) => (isWithin(top, plan.path) ? plan.path : top), path))
    const harmed = this.list.filter(({ path }) => tops.some(top => isWithin(path, top)))
    return harmed.some(plan => plan.client !== client) ? harmed.map(asSent) : []
  }
}

const asSent = ({ action, path, data }: Plan<unknown>): [string, Body] => [
  action,
  { p: formatPath(path), d: data }
]

// cut leaves what of an operation is not at or below `path`. With `split`, one above it is split as the
// server does it: its other parts stay, each for itself.
function cut<Client>(plan: Plan<Client>, path: Path, split: boolean): Plan<Client>[] {
  const all: [string, unknown][] =
    plan.action === 'om' ? Object.entries(plan.data as object) : [['', plan.data]]
  const left = all.flatMap(([key, value]): [string, unknown][] => {
    const at = [...plan.path, ...parsePath(key)]
    if (isWithin(at, path)) return []
    return split && isWithin(path, at) ? without(value, path.slice(at.length), key) : [[key, value]]
  })
  if (left.length === all.length && left.every(([key], i) => key === all[i]![0])) return [plan]
  return left.length ? [{ ...plan, action: 'om', data: Object.fromEntries(left) }] : []
}

// without is what a value has but for what is at `path` in it, by paths below `at`. A leaf stays whole.
function without(value: unknown, [key, ...rest]: Path, at: string): [string, unknown][] {
  if (key === undefined) return []
  if (value !== null && (typeof value !== 'object' || '.sv' in value || '.value' in value))
    return [[at, value]]
  return Object.entries(value ?? {}).flatMap(([name, child]): [string, unknown][] => {
    if (name === '.priority') return []
    const below = at ? `${at}/${name}` : name
    return name === key ? without(child, rest, below) : [[below, child]]
  })
}
