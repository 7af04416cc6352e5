import type { ServerValue } from '../core/scalar.js'

type Any<T> = 0 extends 1 & T ? true : false

/** The type at a path: `At<{rooms: Record<string, Room>}, 'rooms/r1/name'>`. */
export type At<T, Path extends string> = string extends Path
  ? any
  : Any<T> extends true
    ? any
    : Path extends `/${infer Rest}`
      ? At<T, Rest>
      : Path extends `${infer Key}/${infer Rest}`
        ? Rest extends ''
          ? ChildOf<T, Key>
          : At<ChildOf<T, Key>, Rest>
        : Path extends ''
          ? T
          : ChildOf<T, Path>

/** The type of one child; `never` if there can be none of that name. */
export type ChildOf<T, Key extends string> = unknown extends T
  ? any
  : T extends readonly (infer Item)[]
    ? Item
    : T extends object
      ? Key extends keyof T
        ? NonNullable<T[Key]>
        : Key extends `${infer N extends number}`
          ? N extends keyof T
            ? NonNullable<T[N]>
            : never
          : never
      : never

/** What is asked for where the schema does not have a path: so the error says it in words. */
export type UnknownPath<Path extends string> = `unknown path '${Path}' in the schema`

/** The path itself, if the schema has it; else a type that it does not have, so that it is refused. */
export type Known<T, Path extends string> = Path extends `${'' | '/'}.info${string}`
  ? Path
  : [At<T, Path>] extends [never]
    ? UnknownPath<Path>
    : Path

/** Refuses what has a schema where a path is not looked up in it. */
export type Untyped<T> = Any<T> extends true ? unknown : never

/** The type of any child. */
export type Children<T> =
  Any<T> extends true
    ? any
    : T extends readonly (infer Item)[]
      ? Item
      : T extends object
        ? NonNullable<T[keyof T]>
        : never

/**
 * What may be written where a T is read: server values, too, and null for nothing. What no write
 * accepts, such as a Date, is `never`.
 */
export type Writable<T> =
  Any<T> extends true
    ? any
    :
        | (T extends string | number | boolean
            ? Widen<T> | (T extends number ? ServerValue : never)
            : T extends Unwritable
              ? never
              : T extends object
                ? { [K in keyof T]: Writable<T[K]> }
                : T)
        | null

// What no write accepts: it has no form as data.
type Unwritable =
  | undefined
  | bigint
  | symbol
  | ((...args: any) => any)
  | Date
  | RegExp
  | ReadonlyMap<any, any>
  | ReadonlySet<any>
  | PromiseLike<any>
  | ArrayBuffer
  | ArrayBufferView

type Widen<T> = T

/** What `update` may be given: some of the children, or deep paths. */
export type Changes<T> =
  Any<T> extends true
    ? Record<string, any>
    : { [K in keyof T]?: Writable<T[K]> } & { [path: `${string}/${string}`]: unknown }

/** `V` if all its paths are in the schema, and its values fit there. */
export type ChangesAt<T, V> = {
  [P in keyof V]: P extends string ? ([At<T, P>] extends [never] ? UnknownPath<P> : Writable<At<T, P>>) : V[P]
}
