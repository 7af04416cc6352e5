import type { Node } from '../core/node.js'
import { type Index, PRIORITY } from '../core/order.js'
import { parsePath } from '../core/path.js'
import { child, type DatabaseReference } from './reference.js'
import type { At, Children, Known } from './types.js'

/** A child in `forEach` or of a child event: it always has a key and a value. */
export interface IteratedDataSnapshot<T = any> extends DataSnapshot<T> {
  key: string
  val(): T
}

/** What was at a location at one moment. */
export class DataSnapshot<T = any> {
  /** @internal */
  constructor(
    /** @internal */
    readonly node: Node,
    readonly ref: DatabaseReference<T>,
    /** @internal */
    readonly index: Index = PRIORITY
  ) {}

  get priority(): string | number | null {
    return this.node.priority as string | number | null
  }

  get key(): string | null {
    return this.ref.key
  }

  /** The number of children. */
  get size(): number {
    return this.node.kids.length
  }

  child<P extends string>(path: Known<T, P> & string): DataSnapshot<At<T, P>> {
    return new DataSnapshot(this.node.at(parsePath(path)), child(this.ref as DatabaseReference, path))
  }

  exists(): boolean {
    return !this.node.empty
  }

  /** The value with priorities, from which all can be restored. */
  exportVal(): any {
    return this.node.toJSON(true)
  }

  /** Visits the children in the order of the query, until `action` returns true. */
  forEach(action: (child: IteratedDataSnapshot<Children<T>>) => boolean | void): boolean {
    return this.node
      .ordered(this.index)
      .some(
        ([key, node]) => action(new DataSnapshot(node, child(this.ref, key)) as IteratedDataSnapshot) === true
      )
  }

  hasChild(path: string): boolean {
    return !this.node.at(parsePath(path)).empty
  }

  hasChildren(): boolean {
    return this.size > 0
  }

  toJSON(): object | null {
    return this.exportVal()
  }

  val(): T | null {
    return this.node.toJSON() as T | null
  }
}
