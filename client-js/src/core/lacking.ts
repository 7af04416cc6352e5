import type { Answer } from './errors.js'

/** The answer in place of a server that does not have an extension, by its letter. Undefined if it has it. */
export type Lacks = (features: readonly string[]) => Answer | undefined

export const lacksOf =
  (letter: string): Lacks =>
  features =>
    features.includes(letter) ? undefined : { s: 'unsupported', d: `the server does not have "${letter}"` }
