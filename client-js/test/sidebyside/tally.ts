// What happened in the histories that were compared, so that a run shows what it
// is worth.

import type { Step } from './history.js'

/** What a run of some hundred histories must have come across. */
export const wanted = [
  'value',
  'child_added',
  'child_changed',
  'child_moved',
  'child_removed',
  'window',
  'denied listen',
  'revoked listen',
  'denied write',
  'denied transaction',
  'failed get',
  'get',
  'transaction',
  'transaction run again',
  'onDisconnect',
  'cut connection',
  'message held back',
  'write from a callback'
] as const

type Kind = (typeof wanted)[number]

const counts = new Map<Kind, number>()
const add = (kind: Kind) => counts.set(kind, (counts.get(kind) ?? 0) + 1)

export const tally = (): Record<string, number> =>
  Object.fromEntries(wanted.map(kind => [kind, counts.get(kind) ?? 0]))

/** Counts what one history has shown, step by step. */
export class Tally {
  private readonly listens = new Map<string, Step & { op: 'listen' }>()
  private readonly heard = new Set<string>()
  private readonly ran = new Map<string, number>() // transactions, by client and path

  add(step: Step | undefined, seen: readonly string[]): void {
    if (step?.op === 'listen') this.listens.set(`${step.client}: #${step.id}`, step)
    if (step?.op === 'offline') add('cut connection')
    if ((step?.op === 'flush' || step?.op === 'deliver') && step.count < 1000) add('message held back')
    for (const line of seen) this.line(line)
  }

  private line(line: string): void {
    const [, listen, event] = /^(\d+: #\d+) (\w+)/.exec(line) ?? []
    if (listen && event === 'cancelled') add(this.heard.has(listen) ? 'revoked listen' : 'denied listen')
    else if (listen) this.event(listen, event as Kind)
    else this.outcome(line)
  }

  private event(listen: string, event: Kind): void {
    add(event)
    this.heard.add(listen)
    if (this.listens.get(listen)?.query.some(([name]) => name.startsWith('limit'))) add('window')
  }

  private outcome(line: string): void {
    const [, client, op, path] = /^(\d+): (\w+) (\S*)/.exec(line) ?? []
    const denied = line.endsWith(' PERMISSION_DENIED')
    const place = `${client} ${path}`
    if (op === 'run') {
      const before = this.ran.get(place) ?? 0
      this.ran.set(place, before + 1)
      if (before) add('transaction run again')
    } else if (op === 'transaction') {
      this.ran.delete(place)
      add(denied ? 'denied transaction' : 'transaction')
    } else if (op === 'get') add(line.endsWith(' FAILED') ? 'failed get' : 'get')
    else if (op === 'later') add('onDisconnect')
    else if (op === 'react') add('write from a callback')
    else if (denied) add('denied write')
  }
}
