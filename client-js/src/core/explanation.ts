/** What a read takes, or what a write would; docs/extensions.md tells of each member. */
export interface Explanation {
  readonly path: string
  /** Of a read: how the children are found. Of a write: "write". */
  readonly plan: 'none' | 'leaf' | 'node' | 'keys' | 'index' | 'priorities' | 'packed' | 'scan' | 'write'
  readonly query?: Readonly<Record<string, unknown>>
  /** The declared index that is used. */
  readonly index?: string | null
  /** Children looked at; missing for clients that may read the place only through the query. */
  readonly visited?: number
  /** Rows of the data file that are read; likewise, and of a write only for administrators. */
  readonly rows?: number
  /** Children answered. */
  readonly results?: number
  /** Of the answer, or, for whom may read them, of the values written. */
  readonly bytes?: number
  readonly revision: number
  readonly rules: Readonly<Record<string, unknown>>
  /** What to put into the rules for an index. */
  readonly missingIndexOn?: {
    readonly path: string
    readonly indexOn: readonly string[]
    readonly paste: string
  }
  /** Of a write, and only for whom may read what it changes. */
  readonly changes?: boolean
  /** This and the following of a write, and only for administrators. */
  readonly written?: number
  readonly indexEntries?: number
  readonly listeners?: number
  readonly cancelled?: number
}
