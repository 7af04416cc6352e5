import { Lost } from '../support/held-socket.js'
import type { World } from './world.js'

/** A history did not go on. */
export class Stuck extends Error {}

const TICKS = 100

/**
 * A Deadline leads two worlds through a history, and ends it if that takes too long. It counts
 * ticks of a timer: the time during which the process is stopped does not count.
 */
export class Deadline {
  private at = ''
  private timer?: ReturnType<typeof setInterval>
  private readonly over: Promise<never>

  constructor(
    private readonly theirs: World,
    private readonly ours: World,
    milliseconds: number
  ) {
    let ticks = 0
    this.over = new Promise((_, reject) => {
      this.timer = setInterval(() => {
        if (++ticks === TICKS) reject(this.stuck(`no end after ${milliseconds} ms`))
      }, milliseconds / TICKS)
    })
    this.over.catch(() => {}) // the history may have failed before
  }

  /** Has both worlds act. Rejects with Stuck if one of them lost its server, or the time is over. */
  async both<T>(at: string, act: (world: World) => Promise<T>): Promise<[T, T]> {
    this.at = at
    try {
      return await Promise.race([Promise.all([act(this.theirs), act(this.ours)]), this.over])
    } catch (error) {
      throw error instanceof Lost ? this.stuck(error.message) : error
    }
  }

  end(): void {
    clearInterval(this.timer)
  }

  private stuck(why: string): Stuck {
    const waits = (world: World) => `waits for ${world.waits.join('\n    and ')}`
    return new Stuck(
      `${why}, at ${this.at}\n  official client ${waits(this.theirs)}\n  this client ${waits(this.ours)}`
    )
  }
}
