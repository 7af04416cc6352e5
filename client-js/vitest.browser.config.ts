import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/browser/**/*.test.ts'],
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 60_000 } },
    fileParallelism: false,
    isolate: false, // the tests import the same, which takes long
    globalSetup: 'test/support/browser.ts',
    retry: 1 // a browser on a busy machine can be late; what is wrong fails twice
  }
})
