// - 0-9 A-Z _ a-z: 64 characters in the order of their codes, which is that of keys
const alphabet = String.fromCharCode(...Array(123).keys()).replace(/[^-\w]/g, '')

let last = 0
let digits: number[] = []

/**
 * A key that sorts after all keys made before it, also when the clock goes back:
 * 8 characters of time, then 12 random ones, which are counted up until the clock
 * is ahead again.
 */
export function pushId(now: number, random: () => number = Math.random): string {
  if (now > last) {
    last = now
    const digit = (_: unknown, i: number) => Math.floor(i < 8 ? now / 64 ** (7 - i) : random() * 64) % 64
    digits = Array.from({ length: 20 }, digit)
  } else {
    let i = 19
    while (digits[i] === 63) digits[i--] = 0
    digits[i]!++
  }
  return digits.map(digit => alphabet[digit]).join('')
}
