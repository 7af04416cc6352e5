// The files of testdata/models.

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export const root = join(import.meta.dirname, '../../..')

export const names = ['chat', 'org', 'msgy', 'social', 'owner-storage', 'im'] as const

/** Who an actor is; null is nobody. */
export type Actor = { admin: true } | { uid: string; token?: Record<string, unknown> } | null

export interface ChildEvent {
  type: string
  key: string
  value?: unknown
}

export interface Step {
  id: string
  as: string
  op: string
  path: string
  now: number
  query?: Record<string, any>
  shallow?: boolean
  fields?: string[]
  value?: any
  assume?: unknown
  key?: string
  returns?: string[]
  listener?: string
  expect: {
    allow?: boolean
    conflict?: boolean
    value?: any
    order?: string[]
    events?: ChildEvent[]
    invariants?: string[]
  }
}

export interface Ops {
  auth: Record<string, Actor>
  invariants: unknown[]
  steps: Step[]
}

/** The text of a file of a model, as `rules`. */
export const text = (model: string, part: string): string =>
  readFileSync(join(root, 'testdata/models', model, `${part}.json`), 'utf8')

export const parsed = (model: string, part: string): any => JSON.parse(text(model, part))

/**
 * What a model is played with. In the second form a data document says what follows, and the
 * operations of `writes` stand for those that write all copies. What `accepted` has is refused
 * where a copy is missing; here it becomes the update that stands there.
 */
export interface Form {
  name: string
  rules: unknown
  document?: unknown
  writes: Record<string, Partial<Step>>
  accepted: Record<string, unknown>
  /** Operations that are refused since a unique place is taken, by those who do not write it, too. */
  taken: string[]
  /** Places that are not as in the first form: what they hold is for the invariants to say. */
  apart: string[]
  /** Invariants of this form, in place of those with the same id. */
  invariants: unknown[]
}

const none = { accepted: {}, taken: [], apart: [], invariants: [] }

/** The forms of a model. The second is also played by those who write all copies. */
export function forms(model: string): Form[] {
  const first = { name: 'fan-out', rules: parsed(model, 'rules'), writes: {}, ...none }
  if (!existsSync(join(root, 'testdata/models', model, 'declared.json'))) return [first]
  const { writes, ...others } = parsed(model, 'declared')
  const second = {
    rules: parsed(model, 'rules.declared'),
    document: parsed(model, 'database.data'),
    ...none,
    ...others
  }
  return [
    first,
    { ...second, name: 'declared', writes },
    { ...second, name: 'declared, all copies written', writes: {}, taken: [] }
  ]
}

/** The token of an actor for `dogwood dev`, which does not look at signatures. */
export function tokenOf(actor: Actor): string | undefined {
  if (!actor) return undefined
  if ('admin' in actor) return 'owner'
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const claims = {
    iss: 'https://securetoken.google.com/demo',
    aud: 'demo',
    iat: 0,
    exp: 3600,
    auth_time: 0,
    sub: actor.uid,
    user_id: actor.uid,
    firebase: { sign_in_provider: 'custom', identities: {} },
    ...actor.token
  }
  return `${part({ alg: 'none', type: 'JWT' })}.${part(claims)}.`
}
