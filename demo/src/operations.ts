// The operations that the sample suggests, each with who tries it and how it ended.

import {
  endAt,
  equalTo,
  get,
  limitToFirst,
  limitToLast,
  orderByChild,
  orderByKey,
  orderByValue,
  push,
  type QueryConstraint,
  query,
  ref,
  remove,
  set,
  startAt,
  update
} from '@dogwood/client'
import { type Outcome, outcomeOf, showOutcome } from './attempt.js'
import { type Client, connect } from './client.js'
import { h, icon } from './dom.js'
import { model, type Operation, owner, type Person, personOf } from './model.js'
import { fetchJSON } from './rest.js'

/** A connection for each who was asked to do something. */
const clients = new Map<string, Promise<Client>>()

/** The connection of somebody, which is made when it is first needed. */
export function clientOf(person: Person): Promise<Client> {
  let client = clients.get(person.id)
  if (!client) clients.set(person.id, (client = connect(person)))
  return client
}

export const actorOf = ({ as }: Operation): Person => (as === owner.id ? owner : personOf(as)!)

/** A time as the model of mail writes it: with microseconds. */
const iso = (ms: number): string => new Date(ms).toISOString().replace('Z', '000Z')

/**
 * Replaces placeholders: `{push}` is a new key, the same one in all of an operation;
 * `{iso}` the time and `{isoKey}` how it is written in a key; `{day}` the day; `{month}`,
 * `{monthStart}` and `{monthEnd}` the month.
 */
function fillIn(client: Client, operation: Operation): Operation {
  const now = Date.now()
  const date = new Date(now)
  const start = Date.UTC(date.getUTCFullYear(), date.getUTCMonth())
  const end = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1)
  const values: Record<string, string> = {
    push: push(ref(client.db)).key!,
    iso: iso(now),
    isoKey: iso(now).replace('.', ','),
    day: `${iso(now).slice(0, 10)}Z`,
    month: iso(now).slice(0, 7).replace('-', '')
  }
  const text = JSON.stringify(operation)
    .replace(/"\{monthStart\}"/g, String(start))
    .replace(/"\{monthEnd\}"/g, String(end))
    .replace(/\{(push|iso|isoKey|day|month)\}/g, (_, name: string) => values[name]!)
  return JSON.parse(text)
}

function constraints(from: NonNullable<Operation['query']>): QueryConstraint[] {
  const { orderBy, ...rest } = from
  const orders: Record<string, () => QueryConstraint> = { $key: orderByKey, $value: orderByValue }
  const list =
    orderBy === undefined ? [] : [(orders[String(orderBy)] ?? (() => orderByChild(String(orderBy))))()]
  const bounds: Record<string, (value: any) => QueryConstraint> = {
    equalTo,
    startAt,
    endAt,
    limitToFirst,
    limitToLast
  }
  for (const [name, value] of Object.entries(rest)) list.push(bounds[name]!(value))
  return list
}

/** Does an operation as the one who is to try it. */
export async function perform(template: Operation): Promise<{ outcome: Outcome; operation: Operation }> {
  const client = await clientOf(actorOf(template))
  const operation = fillIn(client, template)
  const { op, path, value } = operation
  const place = ref(client.db, path)
  const run: Record<Operation['op'], () => Promise<unknown>> = {
    get: async () => (await get(query(place, ...constraints(operation.query ?? {})))).val(),
    shallow: () => fetchJSON(client.person, path),
    set: () => set(place, value),
    update: () => update(place, value as Record<string, unknown>),
    push: async () => (await push(place, value)).key,
    remove: () => remove(place)
  }
  return { outcome: await outcomeOf(client, pathsOf(operation), run[op]), operation }
}

function pathsOf({ op, path, value }: Operation): string[] {
  if (op === 'push') return [] // the key is chosen later
  const base = path === '/' ? '' : path
  return op === 'update' ? Object.keys(value as object).map(key => `${base}/${key}`) : [path]
}

const WORDS: Record<Operation['op'], string> = {
  get: 'get',
  shallow: 'get, shallow',
  set: 'set',
  update: 'update',
  push: 'push',
  remove: 'remove'
}

/** The operations of the sample, to be tried one by one. */
export function operationsView(): HTMLElement {
  return h(
    'section',
    { class: 'operations', 'aria-labelledby': 'operations-title' },
    h('h2', { id: 'operations-title' }, 'Operations'),
    h(
      'p',
      { class: 'lead' },
      'What the model is made for, and what its rules refuse. Each is done as the user that it names.'
    ),
    h('ul', { class: 'cards' }, ...model.operations.map(card))
  )
}

function card(operation: Operation): HTMLElement {
  const result = h('div', { class: 'result', 'aria-live': 'polite' })
  const body = h('div', { class: 'sent' })
  const run = h('button', { type: 'button', class: 'small' }, 'Try')
  run.addEventListener('click', async () => {
    run.disabled = true
    const { outcome, operation: done } = await perform(operation)
    run.disabled = false
    body.replaceChildren(...sent(done))
    showOutcome(
      result,
      outcome,
      operation.op === 'get' || operation.op === 'shallow' ? 'Answered' : 'Committed'
    )
    if (outcome.ok && outcome.value !== undefined)
      result.append(h('pre', { class: 'source' }, JSON.stringify(outcome.value, null, 2)))
  })
  body.append(...sent(operation))
  return h(
    'li',
    { class: 'card operation', 'data-label': operation.label },
    h(
      'header',
      null,
      h(
        'div',
        null,
        h('h3', null, operation.label),
        h('p', { class: 'entry-by' }, 'as ', actorOf(operation).name)
      ),
      operation.expect === 'deny' &&
        h('span', { class: 'tag', title: 'The rules refuse this' }, icon('shield'), 'forbidden'),
      run
    ),
    h('p', { class: 'op' }, h('b', null, WORDS[operation.op]), ' ', h('code', null, operation.path)),
    body,
    result
  )
}

function sent({ value, query }: Operation): HTMLElement[] {
  const shown = value === undefined ? query : value
  if (shown === undefined) return []
  return [
    h(
      'details',
      null,
      h('summary', null, value === undefined ? 'Query' : 'Value'),
      h('pre', { class: 'source' }, JSON.stringify(shown, null, 2))
    )
  ]
}
