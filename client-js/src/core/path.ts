/** A Path names one location: its keys from the root down. */
export type Path = readonly string[]

/** A Located has a path: a reference or a query, which is no value itself. */
export class Located {
  /** @internal */
  constructor(
    /** @internal */
    readonly path: Path
  ) {}
}

export const parsePath = (text: string): Path => text.split('/').filter(Boolean)

export const formatPath = (path: Path): string => `/${path.join('/')}`

/** Reports whether `path` is `prefix` or lies below it. */
export function isWithin(path: Path, prefix: Path): boolean {
  return prefix.length <= path.length && prefix.every((key, i) => key === path[i])
}

/** Reports whether one of the paths contains the other. */
export const overlaps = (a: Path, b: Path): boolean => isWithin(a, b) || isWithin(b, a)
