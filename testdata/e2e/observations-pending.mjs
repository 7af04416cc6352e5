// Which observations are not played yet, and why. What is written here must be
// what happens: an entry too many fails like one too few, so that nothing stays
// here that could be played, and nothing comes here unnoticed.

import assert from 'node:assert/strict'

export const FUNCTIONS = 'the server calls no functions yet'

/** For each reason the areas, and how many of their observations wait for it. */
const pending = {
  [FUNCTIONS]: { triggers: 1 }
}

/** Ends the play of an observation that the server cannot take part in yet. */
export class NotYet extends Error {
  constructor(reason) {
    super(reason)
    this.reason = reason
  }
}

/** The roll of all observations: played, failed, or not played yet. */
export class Roll {
  #entries = []

  add(observation, state, reason) {
    this.#entries.push({ area: observation.area, name: observation.name, state, reason })
  }

  /** Fails unless exactly the observations of the table above wait. */
  check() {
    const waiting = Object.fromEntries(Object.keys(pending).map(reason => [reason, {}]))
    for (const { area, state, reason } of this.#entries) {
      if (state !== 'waiting') continue
      waiting[reason] ??= {}
      waiting[reason][area] = (waiting[reason][area] ?? 0) + 1
    }
    assert.deepEqual(waiting, pending, 'observations-pending.mjs is not what happened')
  }

  /** A table of the areas, then the name of each observation that waits. */
  toString() {
    const row = (area, ...columns) => area.padEnd(20) + columns.map(text => String(text).padStart(9)).join('')
    const lines = ['', row('area', 'played', 'failed', 'waiting')]
    for (const [area, entries] of groups(this.#entries, 'area')) {
      const count = state => entries.filter(e => e.state === state).length
      lines.push(row(area, count('played'), count('failed'), count('waiting')))
    }
    const waiting = this.#entries.filter(e => e.state === 'waiting')
    for (const [reason, entries] of groups(waiting, 'reason')) {
      lines.push('', `Not played, since ${reason}:`)
      for (const [area, { length }] of groups(entries, 'area')) {
        lines.push(`  ${area} (${length})`)
        lines.push(...entries.filter(e => e.area === area).map(e => `    ${e.name}`))
      }
    }
    return lines.join('\n')
  }
}

function groups(entries, key) {
  const map = new Map()
  for (const entry of entries) map.set(entry[key], [...(map.get(entry[key]) ?? []), entry])
  return map
}
