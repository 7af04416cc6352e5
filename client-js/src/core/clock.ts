/** A monotonic clock in milliseconds. */
export const clock = () => performance.now()

/**
 * By how many milliseconds the server's clock is ahead, by a time `ts` that the server has sent
 * between `from` and now. Clocks that may agree do: a handshake that is read late says
 * nothing about the clocks, and push must not make keys that sort before those made earlier elsewhere.
 */
export const clockOffset = (ts: number, from: number) =>
  Math.max(ts - Date.now(), Math.min(0, ts - from)) || 0
