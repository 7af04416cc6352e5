import type { EventQueue } from '../core/events.js'
import type { Event, Listener, Listeners, Selection, Spec, SyncTree } from '../core/sync.js'
import type { SavedViews } from './views.js'

/** Stands in the tree for a listener that waits for the disk. */
interface Held extends Listener {
  readonly original?: Listener
}

/**
 * The layer above a tree that holds a listener back until the disk has been read for it.
 * Its first events then show one view: the saved one with the pending writes applied.
 */
export class HeldListeners implements Listeners {
  constructor(
    private readonly tree: SyncTree,
    private readonly views: SavedViews,
    private readonly queue: EventQueue
  ) {}

  add(spec: Spec, listener: Listener): Event[] {
    const { tree } = this
    const events = tree.add(spec, listener)
    const held: Held = { ...listener, next: () => {}, original: listener }
    const deferred = this.views.defer(spec, () => {
      if (isThere(tree, spec, held)) this.queue.raise(spec.path, this.swap(spec, held, listener), true)
    })
    if (!deferred) return events
    this.swap(spec, listener, held)
    return []
  }

  remove(spec: Spec, { matches, first }: Selection): Event[] {
    return this.tree.remove(spec, { matches: (other: Held) => matches(other.original ?? other), first })
  }

  // swap puts one listener in the place of another; returns the events for all there is.
  private swap(spec: Spec, before: Listener, after: Listener): Event[] {
    const events = this.tree.add(spec, after)
    this.tree.remove(spec, { matches: other => other === before })
    return events
  }
}

// isThere reports whether the listener was not removed.
function isThere(tree: SyncTree, spec: Spec, listener: Listener): boolean {
  let found = false
  const matches = (other: Listener) => {
    found ||= other === listener
    return false
  }
  tree.remove(spec, { matches })
  return found
}
