import { invalid } from '../core/errors.js'
import { everything, type Params, queryId, wireQuery } from '../core/params.js'
import { formatPath, Located, type Path } from '../core/path.js'
import { checkPath } from '../core/validate.js'
import { checked, type Database, readURL, storeOf } from './database.js'
import type { At, Known, Untyped } from './types.js'

/** A location, or part of its children in some order. */
export class Query<T = any> extends Located {
  declare readonly valueType?: T

  /** @internal */
  constructor(
    /** @internal */
    readonly db: Database,
    path: Path,
    /** @internal */
    readonly params: Params = everything
  ) {
    super(path)
  }

  /** The location without the query. */
  get ref(): DatabaseReference<T> {
    return new DatabaseReference(this.db, this.path)
  }

  /** Same database, location, order and range. */
  isEqual(other: Query | null): boolean {
    return (
      other instanceof Query &&
      other.db === this.db &&
      formatPath(other.path) === formatPath(this.path) &&
      queryId(wireQuery(other.params)) === queryId(wireQuery(this.params))
    )
  }

  toJSON(): string {
    return this.toString()
  }

  /** What the console of Node shows. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toString()
  }

  /** The URL of the location. */
  override toString(): string {
    const { host, secure } = this.db.store.target
    return `http${secure ? 's' : ''}://${host}${formatPath(this.path.map(encodeURIComponent))}`
  }
}

/** A location of the database. */
export class DatabaseReference<T = any> extends Query<T> {
  /** The last part of the path; null for the root. */
  get key(): string | null {
    return this.path.at(-1) ?? null
  }

  get parent(): DatabaseReference | null {
    return this.path.length ? new DatabaseReference(this.db, this.path.slice(0, -1)) : null
  }

  get root(): DatabaseReference {
    return new DatabaseReference(this.db, [])
  }
}

/** A location by its path, by default the root. */
export function ref<Schema>(db: Database<Schema>): DatabaseReference<Schema>
export function ref<Schema, P extends string>(
  db: Database<Schema>,
  path: Known<Schema, P> & string
): DatabaseReference<At<Schema, P>>
export function ref<T = any, Schema = any>(
  db: Database<Schema> & Untyped<Schema>,
  path?: string
): DatabaseReference<T>
export function ref(db: Database, path?: string): DatabaseReference {
  storeOf(db)
  return new DatabaseReference(db, path === undefined ? [] : checkPath(path, []))
}

/** The location that a URL of this database names. */
export function refFromURL<T = any>(db: Database, url: string): DatabaseReference<T> {
  const { host, pathname } = readURL(url)
  const own = storeOf(db).target.host
  if (host !== own) invalid(`${url} is not in the database at ${own}`)
  return pathname === '/' ? ref(db) : ref(db, decodeURIComponent(pathname))
}

/** A location by its path below another one. */
export function child<T, P extends string>(
  parent: DatabaseReference<T>,
  path: Known<T, P> & string
): DatabaseReference<At<T, P>>
export function child<T = any, Parent = any>(
  parent: DatabaseReference<Parent> & Untyped<Parent>,
  path: string
): DatabaseReference<T>
export function child(parent: DatabaseReference, path: string): DatabaseReference {
  return new DatabaseReference(checked(parent).db, checkPath(path, parent.path))
}
