const alphabet = '-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz'

let last = 0
let tail: number[] = []

/**
 * A key that sorts after all keys made before it, also when the clock goes back:
 * 8 characters of time, then 12 random ones, which are counted up until the clock
 * is ahead again.
 */
export function pushId(now: number, random: () => number = Math.random): string {
  if (now > last || !tail.length) {
    last = now
    tail = Array.from({ length: 12 }, () => Math.floor(random() * 64))
  } else increment()
  let head = ''
  for (let time = last, i = 0; i < 8; i++) {
    head = alphabet[time % 64] + head
    time = Math.floor(time / 64)
  }
  return head + tail.map(digit => alphabet[digit]).join('')
}

function increment(): void {
  let i = 11
  while (tail[i] === 63) tail[i--] = 0
  if (i >= 0) tail[i]!++
  else last++ // 2^72 keys in one millisecond
}
