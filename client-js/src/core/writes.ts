import { equals } from './change.js'
import { EMPTY, type Node } from './node.js'
import { applied, cover, type Overlay, overlay, overlayAt, uncover } from './overlay.js'
import { isWithin, overlaps, type Path } from './path.js'

/** A write that the server has not answered yet. */
export interface Write {
  readonly id: number
  /** What it replaces: one location, or several for an update. */
  readonly changes: readonly (readonly [Path, Node])[]
  /** The location of the call; contains all changes. */
  readonly path: Path
  readonly merge: boolean
  /**
   * What the changes were estimated from, if that has server values, and when. The estimate is
   * made again when more is known of what is there.
   */
  readonly raw?: { readonly changes: readonly (readonly [Path, Node])[]; readonly now: number }
  /** False for a transaction that shows nothing before it is committed. */
  readonly visible: boolean
}

/** Writes are the pending writes of one client, in the order they were made. */
export class Writes {
  private list: Write[] = []
  /** The outcome of all visible writes. */
  readonly shown: Overlay = overlay()

  add(write: Write): void {
    this.list.push(write)
    if (write.visible) lay(this.shown, write)
  }

  /**
   * Has `estimate` make the changes of writes around `path` again, where they come from server
   * values. It gets the numbers of the write and of those made after it. Returns where
   * changes are not what they were.
   */
  refresh(
    path: Path,
    estimate: (raw: Node, at: Path, now: number, except: readonly number[]) => Node
  ): Path[] {
    const changed: Path[] = []
    for (const [i, write] of this.list.entries()) {
      const { raw } = write
      if (!raw || !overlaps(write.path, path)) continue
      const except = this.list.slice(i).map(({ id }) => id)
      const changes = raw.changes.map(([at, node], j) => {
        const next = estimate(node, at, raw.now, except)
        if (write.visible && !equals(next, write.changes[j]![1])) changed.push(at)
        return [at, next] as const
      })
      this.list[i] = { ...write, changes }
    }
    if (changed.length) this.rebuild()
    return changed
  }

  /** Removes a write. Returns it if views may look different without it. */
  remove(id: number): Write | undefined {
    const at = this.list.findIndex(write => write.id === id)
    if (at < 0) return undefined
    const gone = this.list.splice(at, 1)[0]
    if (!gone?.visible) return undefined
    const later = this.list.slice(at)
    const covered = later.some(w => w.visible && w.changes.some(([path]) => isWithin(gone.path, path)))
    if (covered) return undefined
    if (this.list.some(w => w.visible && overlaps(w.path, gone.path))) this.rebuild()
    else for (const [path] of gone.changes) uncover(this.shown, path)
    return gone
  }

  /** What lies over `path`. */
  at(path: Path): Overlay {
    return overlayAt(this.shown, path)
  }

  /** `server` with all writes but `except`, hidden ones included. */
  latest(path: Path, server: Node | null, except: readonly number[]): Node {
    const all = overlay()
    for (const write of this.list) {
      if (!except.includes(write.id) && overlaps(write.path, path)) lay(all, write)
    }
    return applied(overlayAt(all, path), server ?? EMPTY)
  }

  private rebuild(): void {
    uncover(this.shown, [])
    for (const write of this.list) if (write.visible) lay(this.shown, write)
  }
}

function lay(o: Overlay, write: Write): void {
  for (const [path, node] of write.changes) cover(o, path, node)
}
