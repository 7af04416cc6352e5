import type { Subscription } from './sync.js'

/**
 * Positions in the log of the server: up to which each listen has everything. On a new
 * connection the server then sends what has changed since, if that is less than the view.
 */
export class Positions {
  private answered = new WeakSet<Subscription>()
  private readonly known = new WeakMap<Subscription, string>()

  /** The connection is lost: no listen is answered. */
  lost(): void {
    this.answered = new WeakSet()
  }

  /** The server has answered a listen, and sent all of it before that. */
  took(subscription: Subscription): void {
    this.answered.add(subscription)
  }

  /** The server has sent everything up to a position. */
  reached(position: string, listens: readonly Subscription[]): void {
    for (const s of listens) if (this.answered.has(s) && !s.chg) this.known.set(s, position)
  }

  /**
   * The position of a listen; "" for none, also of a listen for changes, which is sent the whole
   * view. Undefined, and forgotten, if the server knows no positions.
   */
  of(subscription: Subscription, known: boolean): string | undefined {
    if (known) return this.known.get(subscription) ?? ''
    this.known.delete(subscription)
    return undefined
  }
}
