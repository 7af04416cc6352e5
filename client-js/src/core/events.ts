import { formatPath, overlaps, type Path } from './path.js'
import type { Event } from './sync.js'

interface Batch {
  readonly path: Path
  readonly events: Event[]
  next: number // to run
}

/**
 * An EventQueue calls listeners in the order in which events came about, also
 * when a listener makes new events: those wait until the ones before them at
 * the same location have run.
 */
export class EventQueue {
  private batches: (Batch | undefined)[] = []

  add(events: readonly Event[]): void {
    let batch: Batch | undefined
    for (const event of events) {
      if (!batch || formatPath(batch.path) !== formatPath(event.path)) {
        batch = { path: event.path, events: [], next: 0 }
        this.batches.push(batch)
      }
      batch.events.push(event)
    }
  }

  /** Adds events and runs all that concern `path`; if `exact`, those at `path` itself. */
  raise(path: Path, events: readonly Event[] = [], exact = false): void {
    this.add(events)
    let sent = true
    for (let i = 0; i < this.batches.length; i++) {
      const batch = this.batches[i]
      if (!batch) continue
      if (!overlaps(batch.path, path) || (exact && batch.path.length !== path.length)) {
        sent = false
        continue
      }
      // A listener may come back here; then the rest of the batch goes first.
      while (batch.next < batch.events.length) guard(batch.events[batch.next++]!.run)
      this.batches[i] = undefined
    }
    if (sent) this.batches = []
  }
}

/** Runs user code; what it throws is reported, but stops nothing here. */
export function guard(f: () => void): void {
  try {
    f()
  } catch (error) {
    setTimeout(() => {
      throw error
    })
  }
}
