// How the rules decided, as the server tells: the reports of its rules tools, of all
// operations on this database by all clients.

import { network } from './client.js'
import { debounced, Signal } from './dom.js'
import { frames } from './tap.js'

/** What a part of a rule's source evaluated to. */
export interface Value {
  readonly from: number
  readonly to: number
  readonly value: string
  readonly failed?: boolean
}

/** One rule that was asked. */
export interface Step {
  readonly rule: string
  readonly line: number
  readonly col: number
  readonly path: string
  readonly source: string
  readonly outcome: 'true' | 'false' | 'error' | 'skipped'
  readonly why?: string
  readonly deciding?: boolean
  readonly values?: readonly Value[]
}

export interface Decision {
  readonly n: number
  readonly time: number
  readonly uid: string
  readonly paths: readonly string[]
  readonly report: {
    readonly operation: string
    readonly allow: boolean
    readonly rule?: string
    readonly reason: string
    readonly steps: readonly Step[]
  }
}

/** How many decisions are kept. */
const MOST = 200
const PERIOD = 2500

class Decisions {
  list: Decision[] = []
  readonly changed = new Signal()
  private last = 0
  private asking?: Promise<void>

  /** Asks the server now and then, and soon after the page sent or received something. */
  follow(): void {
    const soon = debounced(() => void this.ask(), 120)
    frames.activity.on(soon)
    setInterval(() => {
      if (!document.hidden) soon()
    }, PERIOD)
    soon()
  }

  /** Fetches what is new. */
  async ask(): Promise<void> {
    while (this.asking) await this.asking
    this.asking = this.fetch()
    await this.asking
    this.asking = undefined
  }

  private async fetch(): Promise<void> {
    if (network.off) return
    try {
      const response = await fetch(`/demo/decisions?after=${this.last}`)
      if (!response.ok) return
      const { last, decisions } = (await response.json()) as { last: number; decisions: Decision[] }
      if (last < this.last) this.list = [] // the server has begun anew
      this.last = last
      if (!decisions.length) return
      this.list = [...this.list, ...decisions].slice(-MOST)
      this.changed.emit()
    } catch {
      // There is no server. The connection says so.
    }
  }

  /** The newest refusal of an operation of `uid`, at one of `paths` if any are given. */
  async refusalOf(uid: string, paths: readonly string[], since: number): Promise<Decision | undefined> {
    await this.ask()
    return this.list.findLast(
      ({ uid: whose, report, paths: at, time }) =>
        !report.allow &&
        whose === uid &&
        time >= since - 2000 &&
        (!paths.length || at.some(path => paths.includes(path)))
    )
  }
}

export const decisions = new Decisions()
