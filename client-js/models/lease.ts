// The lease of a landing program, of which one works at a time: the mechanism of
// owner-storage.ts, which docs/models/owner-storage.md explains.

import {
  type Database,
  DogwoodError,
  onDisconnect,
  ref,
  serverTimestamp,
  set,
  setReturning,
  update
} from '@dogwood/client'
import { isDenied, serverTime, stored } from './records.js'

/** What `landing/$app/$region` holds. The version grows whenever a lander takes the lease. */
export interface LeaseRecord {
  holder: string
  at: number
  /** Milliseconds; 0 if the lease was given up. */
  for: number
  version: number
  /** The marks that were taken away last. */
  taken?: Record<string, unknown>
}

/** Another lander holds the lease. */
export class HeldError extends Error {
  override readonly name = 'HeldError'
  constructor(
    readonly holder: string,
    readonly until: Date
  ) {
    super(`the lander ${holder} holds the lease until ${until.toISOString()}`)
  }
}

/**
 * Another lander took over, because this one was stalled. The marks stay: the other lander
 * saves the fields again, with a greater version.
 */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError'
  constructor() {
    super('the lease was lost to another lander')
  }
}

/** What a lander does for one row in the end, all or none of it. */
export interface Step {
  key: string
  /** The mark that it read; left out if it takes none away. */
  was?: unknown
  /** Values by their paths. */
  set: Record<string, unknown>
}

/** How long the lease lasts after its last renewal. */
const LEASE = 30_000

/** How long one call of `save` may take before the lease is not renewed any more. */
const MAX_SAVE = 300_000

/**
 * How often a lease is tried to be taken. Between two tries the clock may pass the last
 * version, or another lander may have taken the lease and given it up.
 */
const TAKES = 3

/** How many steps one write makes. */
const MAX_STEPS = 500

/** A lease that a lander has taken. */
export class Lease {
  private saving = Date.now()
  private timer?: ReturnType<typeof setInterval>
  private readonly holder = `${globalThis.process?.pid ?? 'page'}/${crypto.randomUUID()}`
  private readonly place: string

  private constructor(
    private readonly db: Database,
    private readonly at: string,
    public version = 0
  ) {
    this.place = `landing/${at}`
  }

  /**
   * Takes the lease of an application and a region. The server decides whether it is free,
   * by its own clock.
   */
  static async take(db: Database, at: string): Promise<Lease> {
    const lease = new Lease(db, at)
    for (let tries = 1; !(await lease.takeNow()) && !(await lease.takeNext(tries)); tries++);
    // If the connection is lost before, the lease runs out by itself.
    await onDisconnect(lease.ref())
      .set(lease.value(0))
      .catch(() => {})
    lease.timer = setInterval(() => lease.renew(), LEASE / 3)
    return lease
  }

  /**
   * Takes the lease with the server's time as the version, so that versions grow even if an
   * administrator has removed the lease. Returns false if the clock is not ahead of the last
   * version, or the lease is held.
   */
  private async takeNow(): Promise<boolean> {
    try {
      const told: Record<string, number> = await setReturning(
        this.ref(),
        this.value(LEASE, serverTimestamp())
      )
      this.version = told.version!
      return true
    } catch (error) {
      if (!isDenied(error)) throw error
      return false
    }
  }

  /**
   * Takes the lease with the version after the last one. Returns false if the clock is ahead
   * of that by now. A lease that seems to be from the future is tried at first: the clock may
   * have gone back, which only the server knows.
   */
  private async takeNext(tries: number): Promise<boolean> {
    const was = await this.read()
    const now = await serverTime(this.db)
    if (was && was.for > 0 && now < was.at + was.for && (tries > 1 || was.at <= now))
      throw new HeldError(was.holder, new Date(was.at + was.for))
    this.version = (was?.version ?? 0) + 1
    try {
      await set(this.ref(), this.value(LEASE))
      return true
    } catch (error) {
      if (!isDenied(error) || tries === TAKES) throw error
      return false
    }
  }

  /** Gives up the lease, if it is still that of this lander. If that fails, it runs out. */
  async release(): Promise<void> {
    clearInterval(this.timer)
    try {
      await set(this.ref(), this.value(0))
      // Not before: what is registered may be another lander's on this connection.
      await onDisconnect(this.ref()).cancel()
    } catch (error) {
      if (!(error instanceof DogwoodError)) throw error
    }
  }

  /** Calls `save`, and lets the lease be renewed meanwhile. */
  during(save: () => Promise<void>): Promise<void> {
    this.saving = Date.now()
    return save()
  }

  private renew(): void {
    if (Date.now() - this.saving > MAX_SAVE) return clearInterval(this.timer)
    set(this.ref(), this.value(LEASE)).catch(error => {
      if (isDenied(error)) clearInterval(this.timer)
    })
  }

  /**
   * Makes steps while the lease is that of this lander, which each write renews. Leaves out
   * a step whose mark is not the one that was read.
   */
  async finish(steps: Step[]): Promise<void> {
    for (let i = 0; i < steps.length; i += MAX_STEPS) await this.part(steps.slice(i, i + MAX_STEPS))
  }

  // In one write if the rules allow it. If they do not, a mark has changed: halving finds it.
  private async part(steps: Step[]): Promise<void> {
    const taken = Object.fromEntries(steps.filter(s => s.was !== undefined).map(s => [s.key, s.was]))
    const changes = Object.assign({}, ...steps.map(s => s.set))
    changes[this.place] = { ...this.value(LEASE), taken }
    try {
      return await update(ref(this.db), changes)
    } catch (error) {
      if (!isDenied(error)) throw error
      const now = await this.read()
      if (now?.holder !== this.holder || now.version !== this.version) throw new LeaseLostError()
      if (steps.length === 1) return this.skip(steps[0]!, error)
    }
    const half = steps.length >> 1
    await this.part(steps.slice(0, half))
    await this.part(steps.slice(half))
  }

  // Throws why a step was denied if its mark is still the one that was read.
  private async skip({ key, was }: Step, denied: unknown): Promise<void> {
    const [mark] = await stored(this.db, ref(this.db, `dirty/${this.at}/${key}`))
    if (was === undefined || mark!.val() === was) throw denied
  }

  private async read(): Promise<LeaseRecord | null> {
    const [lease] = await stored(this.db, this.ref())
    return lease!.val() as LeaseRecord | null
  }

  private ref() {
    return ref<any>(this.db, this.place)
  }

  private value(lasts: number, version: unknown = this.version) {
    return { holder: this.holder, at: serverTimestamp(), for: lasts, version }
  }
}
