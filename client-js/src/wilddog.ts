import {
  enableLogging,
  getDatabase,
  goOffline,
  goOnline,
  signInWithToken,
  signOut
} from './api/connection.js'
import {
  endAt,
  equalTo,
  limitToFirst,
  limitToLast,
  orderByChild,
  orderByKey,
  orderByPriority,
  orderByValue,
  type QueryConstraint,
  startAt
} from './api/constraints.js'
import { type Database, type DatabaseOptions, readURL } from './api/database.js'
import {
  type EventType,
  off,
  onChildAdded,
  onChildChanged,
  onChildMoved,
  onChildRemoved,
  onValue
} from './api/listen.js'
import { onDisconnect, type OnDisconnect as Plan } from './api/ondisconnect.js'
import { query } from './api/query.js'
import { child, type DatabaseReference, type Query as ModularQuery, ref } from './api/reference.js'
import type { DataSnapshot } from './api/snapshot.js'
import { runTransaction } from './api/transaction.js'
import { push, remove, serverTimestamp, set, setPriority, setWithPriority, update } from './api/write.js'

type Priority = string | number | null
type Value = string | number | boolean | null
type Done = (error: Error | null) => unknown
type Callback = (snapshot: Snapshot, previous?: string | null) => unknown

const listens = {
  value: onValue,
  child_added: onChildAdded,
  child_changed: onChildChanged,
  child_moved: onChildMoved,
  child_removed: onChildRemoved
}

// settle tells a callback how a promise ends. With a callback, a failure is
// handled there and nowhere else.
function settle<T>(promise: Promise<T>, done?: Done | null): Promise<T> {
  if (done) promise.then(() => done(null), done)
  return promise
}

/** What was at a location at one moment. */
export class Snapshot {
  /** @internal */
  constructor(private readonly snapshot: DataSnapshot) {}

  val(): any {
    return this.snapshot.val()
  }

  exportVal(): any {
    return this.snapshot.exportVal()
  }

  key(): string | null {
    return this.snapshot.key
  }

  name(): string | null {
    return this.snapshot.key
  }

  ref(): Wilddog {
    return wrap(this.snapshot.ref)
  }

  child(path: string): Snapshot {
    return new Snapshot(this.snapshot.child(path))
  }

  exists(): boolean {
    return this.snapshot.exists()
  }

  hasChild(path: string): boolean {
    return this.snapshot.hasChild(path)
  }

  hasChildren(): boolean {
    return this.snapshot.hasChildren()
  }

  numChildren(): number {
    return this.snapshot.size
  }

  getPriority(): Priority {
    return this.snapshot.priority
  }

  forEach(action: (child: Snapshot) => boolean | void): boolean {
    return this.snapshot.forEach(snapshot => action(new Snapshot(snapshot)))
  }
}

/** Writes that the server carries out when this client is gone. */
export class OnDisconnect {
  /** @internal */
  constructor(private readonly plan: Plan) {}

  set(value: unknown, done?: Done): Promise<void> {
    return settle(this.plan.set(value), done)
  }

  setWithPriority(value: unknown, priority: Priority, done?: Done): Promise<void> {
    return settle(this.plan.setWithPriority(value, priority), done)
  }

  update(values: Record<string, unknown>, done?: Done): Promise<void> {
    return settle(this.plan.update(values), done)
  }

  remove(done?: Done): Promise<void> {
    return settle(this.plan.remove(), done)
  }

  cancel(done?: Done): Promise<void> {
    return settle(this.plan.cancel(), done)
  }
}

/** A location, or part of its children in some order. */
export class Query {
  // Functions that were passed to `on`, by what is listening for them.
  private static readonly wrappers = new WeakMap<Callback, WeakMap<object, any>>()

  /** @internal */
  constructor(
    /** @internal */
    readonly modular: ModularQuery
  ) {}

  on(
    type: EventType,
    callback: Callback,
    cancelOrContext?: ((error: Error) => unknown) | object,
    context?: object
  ): Callback {
    const cancel =
      typeof cancelOrContext === 'function' ? (cancelOrContext as (error: Error) => unknown) : undefined
    const self = context ?? (cancel ? undefined : cancelOrContext)
    listens[type](this.modular, this.wrapper(callback, self), cancel && (error => cancel.call(self, error)))
    return callback
  }

  off(type?: EventType, callback?: Callback, context?: object): void {
    off(this.modular, type, callback && this.wrapper(callback, context))
  }

  once(
    type: EventType,
    callback?: Callback,
    failure?: ((error: Error) => unknown) | object,
    context?: object
  ): Promise<Snapshot> {
    const fails = typeof failure === 'function' ? (failure as (error: Error) => unknown) : undefined
    const self = context ?? (fails ? undefined : failure)
    const promise = new Promise<Snapshot>((resolve, reject) => {
      let first = true // a message may bring several
      const next = (snapshot: DataSnapshot, previous?: string | null) => {
        if (!first) return
        first = false
        off(this.modular, type, next)
        const seen = new Snapshot(snapshot)
        resolve(seen)
        callback?.call(self, seen, previous)
      }
      const error = (error: Error) => {
        reject(error)
        fails?.call(self, error)
      }
      listens[type](this.modular, next, error)
    })
    if (callback || fails) promise.catch(() => {})
    return promise
  }

  private wrapper(callback: Callback, context: object = callback): any {
    let known = Query.wrappers.get(callback)
    if (!known) Query.wrappers.set(callback, (known = new WeakMap()))
    let wrapper = known.get(context)
    if (!wrapper) {
      wrapper = (snapshot: DataSnapshot, previous?: string | null) =>
        callback.call(context === callback ? undefined : context, new Snapshot(snapshot), previous)
      known.set(context, wrapper)
    }
    return wrapper
  }

  private with(...constraints: QueryConstraint[]): Query {
    return new Query(query(this.modular, ...constraints))
  }

  orderByChild(path: string): Query {
    return this.with(orderByChild(path))
  }

  orderByKey(): Query {
    return this.with(orderByKey())
  }

  orderByValue(): Query {
    return this.with(orderByValue())
  }

  orderByPriority(): Query {
    return this.with(orderByPriority())
  }

  startAt(value: Value = null, key?: string): Query {
    return this.with(startAt(value, key))
  }

  endAt(value: Value = null, key?: string): Query {
    return this.with(endAt(value, key))
  }

  equalTo(value: Value, key?: string): Query {
    return this.with(equalTo(value, key))
  }

  limitToFirst(count: number): Query {
    return this.with(limitToFirst(count))
  }

  limitToLast(count: number): Query {
    return this.with(limitToLast(count))
  }

  /** The first ones after a start, else the last ones. */
  limit(count: number): Query {
    return this.modular.params.start ? this.limitToFirst(count) : this.limitToLast(count)
  }

  ref(): Wilddog {
    return wrap(this.modular.ref)
  }

  toString(): string {
    return this.modular.toString()
  }
}

/** Who is signed in. */
export interface AuthData {
  readonly token: string
}

const signedIn = new WeakMap<Database, AuthData>()
const observers = new WeakMap<Database, Set<(auth: AuthData | null) => unknown>>()
const used = new Set<Database>()
let options: DatabaseOptions = {}

function wrap(reference: DatabaseReference): Wilddog {
  return new Wilddog(reference)
}

/** A location in a database, by its URL: `new Wilddog('https://host/a/b')`. */
export class Wilddog extends Query {
  static readonly ServerValue = { TIMESTAMP: serverTimestamp() }

  /** Sets what all databases need that are opened later, as a WebSocket class. */
  static configure(more: DatabaseOptions): void {
    options = more
  }

  static goOnline(): void {
    used.forEach(goOnline)
  }

  static goOffline(): void {
    used.forEach(goOffline)
  }

  static enableLogging(to: boolean | ((message: string) => unknown)): void {
    enableLogging(to)
  }

  /** @internal */
  declare readonly modular: DatabaseReference

  constructor(url: string)
  /** @internal */
  constructor(reference: DatabaseReference)
  constructor(at: string | DatabaseReference) {
    super(typeof at === 'string' ? locate(at) : at)
  }

  key(): string | null {
    return this.modular.key
  }

  name(): string | null {
    return this.modular.key
  }

  parent(): Wilddog | null {
    const { parent } = this.modular
    return parent && wrap(parent)
  }

  root(): Wilddog {
    return wrap(this.modular.root)
  }

  child(path: string): Wilddog {
    return wrap(child(this.modular, path))
  }

  set(value: unknown, done?: Done): Promise<void> {
    return settle(set(this.modular, value), done)
  }

  setWithPriority(value: unknown, priority: Priority, done?: Done): Promise<void> {
    return settle(setWithPriority(this.modular, value, priority), done)
  }

  setPriority(priority: Priority, done?: Done): Promise<void> {
    return settle(setPriority(this.modular, priority), done)
  }

  update(values: Record<string, unknown>, done?: Done): Promise<void> {
    return settle(update(this.modular, values), done)
  }

  remove(done?: Done): Promise<void> {
    return settle(remove(this.modular), done)
  }

  /** A child with a new key; its `then` and `catch` are those of the write. */
  push(value?: unknown, done?: Done): Wilddog & Pick<Promise<Wilddog>, 'then' | 'catch'> {
    const pushed = push(this.modular, value as any)
    const place = child(this.modular, pushed.key)
    const promise = settle(Promise.resolve(pushed), done).then(() => wrap(place))
    promise.catch(() => {})
    return Object.assign(wrap(place), {
      then: promise.then.bind(promise),
      catch: promise.catch.bind(promise)
    })
  }

  transaction(
    update: (value: any) => unknown,
    done?: ((error: Error | null, committed: boolean, snapshot: Snapshot | null) => unknown) | null,
    applyLocally = true
  ): Promise<{ committed: boolean; snapshot: Snapshot }> {
    const promise = runTransaction(this.modular, update, { applyLocally }).then(
      ({ committed, snapshot }) => ({
        committed,
        snapshot: new Snapshot(snapshot)
      })
    )
    if (done)
      promise.then(
        ({ committed, snapshot }) => done(null, committed, snapshot),
        error => done(error, false, null)
      )
    return promise
  }

  onDisconnect(): OnDisconnect {
    return new OnDisconnect(onDisconnect(this.modular))
  }

  /** Signs in with a token, or with a secret of the database. */
  authWithCustomToken(
    token: string,
    done?: (error: Error | null, auth: AuthData | null) => unknown
  ): Promise<AuthData> {
    const { db } = this.modular
    const promise = signInWithToken(db, token).then(() => {
      const auth = { token }
      signedIn.set(db, auth)
      tell(db)
      return auth
    })
    if (done)
      promise.then(
        auth => done(null, auth),
        error => done(error, null)
      )
    return promise
  }

  unauth(): void {
    const { db } = this.modular
    signOut(db)
    signedIn.delete(db)
    tell(db)
  }

  getAuth(): AuthData | null {
    return signedIn.get(this.modular.db) ?? null
  }

  /** Calls `callback` with who is signed in, now and after every change. */
  onAuth(callback: (auth: AuthData | null) => unknown): void {
    const { db } = this.modular
    const known = observers.get(db) ?? new Set()
    observers.set(db, known.add(callback))
    callback(this.getAuth())
  }

  offAuth(callback: (auth: AuthData | null) => unknown): void {
    observers.get(this.modular.db)?.delete(callback)
  }
}

function tell(db: Database): void {
  for (const callback of [...(observers.get(db) ?? [])]) callback(signedIn.get(db) ?? null)
}

const opened = new Map<string, Database>()

// locate finds the database of a URL, and in it the path.
function locate(url: string): DatabaseReference {
  const { origin, pathname, search } = readURL(url)
  const databaseURL = origin + search
  let db = opened.get(databaseURL)
  if (!db) {
    db = getDatabase({ ...options, databaseURL })
    opened.set(databaseURL, db)
    used.add(db)
  }
  return pathname === '/' ? ref(db) : ref(db, decodeURIComponent(pathname))
}

export default Wilddog
