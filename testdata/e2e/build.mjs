// Prints the path of the binary under test, after building it if need be: once,
// before the test files start side by side.
import { binary } from './harness.mjs'

console.log(await binary())
