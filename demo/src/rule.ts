// A rule as it was evaluated: its source, with the conditions that held and those that
// did not, and below it what its parts were.

import type { Step, Value } from './decisions.js'
import { h } from './dom.js'

const MOST_VALUES = 24

/** Draws one rule that was asked. */
export function drawStep(step: Step): HTMLElement {
  const outcome = step.outcome === 'true' ? 'good' : step.outcome === 'skipped' ? '' : 'bad'
  return h(
    'section',
    { class: `step${step.deciding ? ' deciding' : ''}` },
    h(
      'header',
      null,
      h('span', { class: `chip ${outcome}` }, step.outcome),
      h('code', { class: 'rule-path' }, step.rule),
      h('span', { class: 'entry-by' }, `line ${step.line}`)
    ),
    step.path !== pathOf(step.rule) && h('p', { class: 'at' }, 'at ', h('code', null, step.path)),
    source(step),
    step.why && h('p', { class: 'at' }, step.why),
    values(step)
  )
}

const pathOf = (rule: string): string => rule.slice(0, rule.lastIndexOf('/')) || '/'

// Offsets are in bytes of UTF-8.
const encoder = new TextEncoder()
const decoder = new TextDecoder()

function excerpt(step: Step, from: number, to: number): string {
  return decoder.decode(encoder.encode(step.source).subarray(from, to))
}

const isCondition = ({ value }: Value): boolean => value === 'true' || value === 'false'

const isChain = (text: string): boolean => /&&|\|\|/.test(text)

/** The conditions that chains of && and || are made of: none of them is within another. */
function conditions(step: Step): Value[] {
  const some = (step.values ?? []).filter(v => isCondition(v) && !isChain(excerpt(step, v.from, v.to)))
  return some
    .filter(v => !some.some(w => w.from <= v.from && w.to >= v.to && w.to - w.from > v.to - v.from))
    .sort((a, b) => a.from - b.from)
}

function source(step: Step): HTMLElement {
  const code = h('pre', { class: 'source' })
  let at = 0
  for (const { from, to, value } of conditions(step)) {
    if (from < at) continue
    code.append(excerpt(step, at, from))
    code.append(
      h('mark', { class: value === 'true' ? 'good' : 'bad', title: value }, excerpt(step, from, to))
    )
    at = to
  }
  code.append(excerpt(step, at, encoder.encode(step.source).length))
  return code
}

/**
 * What is worth telling: conditions and values. Not the whole rule, and not the places that
 * values are read from.
 */
function values(step: Step): HTMLElement | null {
  const seen = new Set<string>()
  const rows: [string, Value][] = []
  const whole = step.source.length
  for (const value of [...(step.values ?? [])].sort((a, b) => a.from - b.from || b.to - a.to)) {
    const text = excerpt(step, value.from, value.to)
    const chain = isCondition(value) && isChain(text)
    const plain = value.value.startsWith('/') || text === 'auth' || text === value.value
    if (chain || plain || value.to - value.from >= whole || seen.has(text)) continue
    seen.add(text)
    rows.push([text, value])
  }
  if (!rows.length) return null
  return h(
    'dl',
    { class: 'values' },
    ...rows
      .slice(0, MOST_VALUES)
      .flatMap(([text, { value, failed }]) => [
        h('dt', null, h('code', null, text)),
        h(
          'dd',
          { class: failed || value === 'false' ? 'bad' : value === 'true' ? 'good' : '' },
          h('code', null, value)
        )
      ])
  )
}
