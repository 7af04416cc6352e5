// What the page listens to, for the panel to show: the same snapshots that the views get.

import { type DataSnapshot, onValue, type Query } from '@dogwood/client'
import { Signal } from './dom.js'

interface Watch {
  readonly path: string
  snapshot?: DataSnapshot
}

const watches = new Set<Watch>()

export const watched = {
  changed: new Signal(),
  /** The newest snapshot of each place, in the order of the paths. */
  get list(): readonly { path: string; snapshot: DataSnapshot }[] {
    return [...watches]
      .filter((one): one is Required<Watch> => one.snapshot !== undefined)
      .sort((a, b) => (a.path < b.path ? -1 : 1))
  }
}

/** `onValue` whose snapshots the panel shows, too. Returns what ends it. */
export function watch(
  query: Query,
  f: (snapshot: DataSnapshot) => void,
  refused?: (error: Error) => void
): () => void {
  const one: Watch = { path: decodeURIComponent(new URL(query.ref.toString()).pathname).replace(/\/$/, '') }
  watches.add(one)
  const forget = () => {
    watches.delete(one)
    watched.changed.emit()
  }
  const end = onValue(
    query,
    snapshot => {
      one.snapshot = snapshot
      watched.changed.emit()
      f(snapshot)
    },
    error => {
      forget()
      refused?.(error)
    }
  )
  return () => {
    end()
    forget()
  }
}
