import { join } from 'node:path'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  resolve: {
    alias: {
      '#socket': join(import.meta.dirname, 'src/socket/node.ts'),
      // Libraries made for the official client run on this one.
      'firebase/database': join(import.meta.dirname, 'src/index.ts'),
      'react-firebase-hooks/database': join(
        import.meta.dirname,
        'node_modules/react-firebase-hooks/database/dist/index.esm.js'
      )
    }
  },
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/browser/**'],
    testTimeout: 30_000,
    fileParallelism: false,
    server: { deps: { inline: [/react-firebase-hooks/] } }
  }
})
