const alphabet = '-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz'

let last = 0
let tail: number[] = []

/**
 * A key that sorts after all keys made before it: 8 characters of time, then
 * 12 random ones, which are counted up while the millisecond stays the same.
 */
export function pushId(now: number, random: () => number = Math.random): string {
  if (now === last) increment()
  else tail = Array.from({ length: 12 }, () => Math.floor(random() * 64))
  last = now
  let head = ''
  for (let i = 0; i < 8; i++) {
    head = alphabet[now % 64] + head
    now = Math.floor(now / 64)
  }
  return head + tail.map(digit => alphabet[digit]).join('')
}

function increment(): void {
  let i = 11
  while (i > 0 && tail[i] === 63) tail[i--] = 0
  tail[i] = (tail[i]! + 1) % 64
}
