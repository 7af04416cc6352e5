import type { Path } from './path.js'
import type { Priority } from './scalar.js'
import type { Listener, Selection, Spec } from './sync.js'
import type { Target } from './target.js'

/** What references work on: a realtime connection, or requests over HTTP. */
export interface Store {
  readonly target: Target
  /** The time by the clock of the server, as far as known. */
  now(): number
  set(path: Path, value: unknown, priority?: Priority): Promise<void>
  update(path: Path, values: object): Promise<void>
}

/** A store that knows of changes. */
export interface LiveStore extends Store {
  listen(spec: Spec, listener: Listener): void
  unlisten(spec: Spec, which: Selection): void
}
