/** A placeholder that the server replaces: `{'.sv': 'timestamp'}`. */
export interface ServerValue {
  readonly '.sv': string | { readonly increment?: number; readonly max?: number; readonly min?: number }
}

export type Scalar = string | number | boolean | ServerValue
export type Priority = Scalar | null
