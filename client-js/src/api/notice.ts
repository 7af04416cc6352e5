/** Which children of a place were written. */
export interface Notice {
  /** That of the last write that it is about. A page of this revision or a later one has it. */
  readonly revision: number
  /** Their keys, in the order in which they were written first. */
  readonly children: readonly string[]
  /** Any child may have changed, and `children` is empty. */
  readonly all: boolean
}
