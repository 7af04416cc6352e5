// Trying something, and saying how it ended. A refusal is shown with the rule that
// refused and the condition that was not met.

import { DogwoodError } from '@dogwood/client'
import type { Client } from './client.js'
import { type Decision, decisions } from './decisions.js'
import { fill, h, icon, Signal } from './dom.js'

/** How an attempt ended. */
export interface Outcome {
  readonly ok: boolean
  readonly took: number
  readonly value?: unknown
  readonly error?: string
  readonly decision?: Decision
}

/** Does something as somebody; a refusal comes with the decision. */
export async function outcomeOf(
  { person }: Pick<Client, 'person'>,
  paths: readonly string[],
  run: () => Promise<unknown>
): Promise<Outcome> {
  const began = Date.now()
  try {
    const value = await run()
    return { ok: true, took: Date.now() - began, value }
  } catch (error) {
    const took = Date.now() - began
    if (!isRefusal(error)) return { ok: false, took, error: (error as Error).message }
    const decision = await decisions.refusalOf(person.uid ?? '', paths, began)
    return { ok: false, took, error: 'Permission denied', decision }
  }
}

const isRefusal = (error: unknown): boolean =>
  error instanceof DogwoodError && /PERMISSION_DENIED/.test(error.code)

/** Has the panel show a decision. */
export const shown: { decision?: Decision; readonly changed: Signal } = { changed: new Signal() }

export function show(decision: Decision): void {
  shown.decision = decision
  shown.changed.emit()
}

/** The sentence behind the operation in a reason: which rule, and what of it. */
export const reasonOf = ({ report }: Decision): string =>
  report.reason.startsWith(`${report.operation}: `)
    ? report.reason.slice(report.operation.length + 2)
    : report.reason

/** Why something was refused, with a way to the full decision. */
export function refusal({ decision, error }: Outcome): HTMLElement {
  if (!decision) return h('p', { class: 'reason' }, error ?? 'It failed.')
  return h(
    'div',
    { class: 'reason' },
    h('p', null, h('code', null, reasonOf(decision))),
    h(
      'button',
      { type: 'button', class: 'link', onclick: () => show(decision) },
      'Show how the rules decided'
    )
  )
}

const MOST_NOTICES = 3
const BRIEFLY = 5000
const LONGER = 15_000 // what has to be read

/** Where notices appear. */
export const notices = h('div', { class: 'notices', role: 'status', 'aria-live': 'polite' })

/** Tells how something ended. The notice goes away by itself, but not from under who reads it. */
export function notify(title: string, outcome: Outcome): void {
  const close = (): void => notice.remove()
  const notice: HTMLElement = h(
    'div',
    { class: `notice ${outcome.ok ? 'good' : 'bad'}` },
    icon(outcome.ok ? 'check' : 'shield'),
    h('div', { class: 'notice-text' }, h('strong', null, title), !outcome.ok && refusal(outcome)),
    h(
      'button',
      { type: 'button', class: 'quiet square', 'aria-label': 'Dismiss', onclick: close },
      icon('cross')
    )
  )
  notices.append(notice)
  while (notices.children.length > MOST_NOTICES) notices.firstElementChild!.remove()
  const leave = (): void => {
    if (notice.matches(':hover, :focus-within')) setTimeout(leave, BRIEFLY)
    else close()
  }
  setTimeout(leave, outcome.ok ? BRIEFLY : LONGER)
}

/**
 * Does something as the user. Nothing is said when it goes well, unless `tell` says what
 * to say: what changed is there to be seen.
 */
export async function attempt(
  client: Client,
  what: string,
  paths: readonly string[],
  run: () => Promise<unknown>,
  tell?: string
): Promise<Outcome> {
  const outcome = await outcomeOf(client, paths, run)
  if (!outcome.ok) notify(`${what}: refused`, outcome)
  else if (tell) notify(tell, outcome)
  return outcome
}

/** A line that says how an attempt ended, for places that show it where it was made. */
export function showOutcome(place: Element, outcome: Outcome, allowed = 'Allowed'): void {
  fill(
    place,
    h(
      'p',
      { class: `verdict ${outcome.ok ? 'good' : 'bad'}` },
      icon(outcome.ok ? 'check' : 'cross'),
      outcome.ok ? `${allowed} in ${outcome.took} ms` : 'Refused, and nothing was changed'
    ),
    !outcome.ok && refusal(outcome)
  )
}
