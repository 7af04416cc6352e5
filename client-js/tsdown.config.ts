import { defineConfig } from 'tsdown'
import { shortNames } from './scripts/short-names.ts'

export default defineConfig({
  entry: {
    index: 'src/index.ts',
    rest: 'src/rest.ts',
    wilddog: 'src/wilddog.ts',
    persistence: 'src/persistence.ts',
    socket: 'src/socket/default.ts',
    'socket-node': 'src/socket/node.ts'
  },
  deps: { neverBundle: ['#socket', /^node:/] },
  format: 'esm',
  platform: 'neutral',
  target: 'es2022',
  dts: true,
  clean: true,
  fixedExtension: false,
  plugins: [shortNames()]
})
