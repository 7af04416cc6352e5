import { defineConfig } from 'tsdown'
import { noImportCycles } from './scripts/import-cycles.ts'
import { shortNames } from './scripts/short-names.ts'

// Examples, which import the package as others do.
const models = ['chat', 'org', 'msgy', 'social', 'owner-storage', 'im']

export default defineConfig({
  entry: {
    index: 'src/index.ts',
    rest: 'src/rest.ts',
    wilddog: 'src/wilddog.ts',
    persistence: 'src/persistence.ts',
    socket: 'src/socket/default.ts',
    'socket-node': 'src/socket/node.ts',
    react: 'frameworks/react.ts',
    vue: 'frameworks/vue.ts',
    svelte: 'frameworks/svelte.ts',
    ...Object.fromEntries(models.map(name => [`models/${name}`, `models/${name}.ts`]))
  },
  deps: { neverBundle: ['#socket', '@dogwood/client', 'react', 'vue', /^node:/] },
  format: 'esm',
  platform: 'neutral',
  target: 'es2022',
  dts: true,
  sourcemap: true,
  clean: true,
  fixedExtension: false,
  plugins: [noImportCycles(), shortNames()]
})
