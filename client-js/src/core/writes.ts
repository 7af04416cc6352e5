import { EMPTY, type Node } from './node.js'
import { applied, cover, isBlank, type Overlay, overlay, overlayAt, uncover } from './overlay.js'
import { isWithin, overlaps, type Path } from './path.js'

/** A write that the server has not answered yet. */
export interface Write {
  readonly id: number
  /** What it replaces: one location, or several for an update. */
  readonly changes: readonly (readonly [Path, Node])[]
  /** The location of the call; contains all changes. */
  readonly path: Path
  readonly merge: boolean
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

  /** Removes a write. Returns it if views may look different without it. */
  remove(id: number): Write | undefined {
    const at = this.list.findIndex(write => write.id === id)
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

  /** What is shown at `path`, or null if too little is known. */
  complete(path: Path, server: Node | null): Node | null {
    const over = this.at(path)
    if (over.node || isBlank(over)) return over.node ?? server
    return server && applied(over, server)
  }

  private rebuild(): void {
    uncover(this.shown, [])
    for (const write of this.list) if (write.visible) lay(this.shown, write)
  }
}

function lay(o: Overlay, write: Write): void {
  for (const [path, node] of write.changes) cover(o, path, node)
}
