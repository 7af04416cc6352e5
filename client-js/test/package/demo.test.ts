// The demonstration that the server has in it is the one that its sources say.

import { expect, test } from 'vitest'
import { build, committed, write } from '../../scripts/demo.js'

test('the demonstration is built from its sources', async () => {
  const files = await build()
  if (process.env.UPDATE_DEMO) write(files)
  expect([...committed().keys()]).toEqual([...files.keys()])
  for (const [name, text] of files) {
    // Not compared by expect, which would print both files.
    expect(committed().get(name) === text, `${name}: run npm run build:demo`).toBe(true)
  }
})
