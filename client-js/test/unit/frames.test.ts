import { expect, test } from 'vitest'
import { joiner, split } from '../../src/core/frames.js'
import { vectors } from './vectors.js'

test('long messages are cut as recorded', () => {
  for (const { length, segments, lengths, header } of vectors('frame-split').cases) {
    const messages = split('x'.repeat(length))
    if (header === null) expect(messages).toHaveLength(1)
    else expect(messages.shift()).toBe(header)
    expect(messages).toHaveLength(segments)
    expect(messages.map(message => message.length)).toEqual(lengths)
  }
})

test('no character is cut in two', () => {
  for (const offset of [16_382, 16_383, 16_384]) {
    const text = `${'x'.repeat(offset)}😀${'y'.repeat(20_000)}😀`
    const messages = split(text)
    for (const message of messages) expect(message).not.toMatch(/[\ud800-\udbff]$/)
    const seen: string[] = []
    messages.forEach(joiner(text => seen.push(text)))
    expect(seen).toEqual([text])
  }
})

test('pieces that look like counts are pieces', () => {
  const seen: string[] = []
  const receive = joiner(text => seen.push(text))
  for (const message of ['2', '1', '2', '{}']) receive(message)
  expect(seen).toEqual(['12', '{}'])
})
