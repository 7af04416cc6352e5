import { join } from 'node:path'
import { defineConfig } from 'vitest/config'

const at = (path: string) => join(import.meta.dirname, path)

// Most files of unit play the server for connections that outlive their tests, so they stay apart.
const together = ['test/{models,package}/**/*.test.ts']
const apart = ['test/{apps,frameworks,sidebyside,unit}/**/*.test.ts']

export default defineConfig({
  resolve: {
    alias: [
      { find: '#socket', replacement: at('src/socket/node.ts') },
      // The models import the package as others do.
      { find: /^@dogwood\/client$/, replacement: at('src/index.ts') },
      { find: /^@dogwood\/client\/(react|vue|svelte)$/, replacement: at('frameworks/$1.ts') },
      // Apps and libraries made for the official client run on this one.
      { find: 'firebase/database', replacement: at('src/index.ts') },
      { find: /^firebase$/, replacement: at('src/wilddog.ts') },
      { find: 'firebase/app', replacement: '@firebase/app' },
      { find: /^firebase\/(app-check|auth|firestore|storage)$/, replacement: at('test/apps/no-product.ts') },
      // Node would take the build that requires the official client.
      {
        find: 'react-firebase-hooks/database',
        replacement: at('node_modules/react-firebase-hooks/database/dist/index.esm.js')
      }
    ]
  },
  test: {
    testTimeout: 300_000, // some compile, and machines may be busy
    hookTimeout: 300_000,
    expect: { poll: { timeout: 60_000 } },
    fileParallelism: false,
    server: { deps: { inline: [/react-firebase-hooks/, /vuefire/] } },
    // Files that leave nothing behind share a process, which loads the client once.
    projects: [
      { extends: true, test: { name: 'together', include: together, isolate: false } },
      { extends: true, test: { name: 'apart', include: apart } }
    ]
  }
})
