import { vi } from 'vitest'

/** Waits until a check does not throw, however busy the machine is. Vitest waits a second. */
export const eventually = <T>(check: () => T | Promise<T>): Promise<T> => vi.waitFor(check, 60_000)
