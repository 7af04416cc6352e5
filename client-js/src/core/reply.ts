import type { DogwoodError } from './errors.js'
import type { Node } from './node.js'

/** What a server says about one lookup of a `getAll`, whatever the form in which it does. */
export interface Reply {
  readonly node?: Node
  readonly error?: DogwoodError
  readonly keys?: readonly (readonly [key: string, Node | undefined, DogwoodError | undefined])[]
}
