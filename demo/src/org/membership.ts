// What the view knows of users and groups: each is listened to by its key, as nobody but an
// auditor may list them.

import { onValue, ref } from '@dogwood/client'
import type { Client } from '../client.js'
import { Signal } from '../dom.js'
import { model } from '../model.js'

export interface User {
  readonly id: string
  readonly name: string
  readonly groups: readonly string[]
}

export interface Group {
  readonly id: string
  readonly name: string
  readonly owner: string
  readonly members: readonly string[]
}

/** What somebody sees of a place: its value, or that the rules refuse it. */
export type Seen<T> = T | 'refused' | undefined

/** The users and groups as one client sees them. */
export class Memberships {
  readonly changed = new Signal()
  readonly users = new Map<string, Seen<User>>()
  readonly groups = new Map<string, Seen<Group>>()
  private readonly ends = new Map<string, () => void>()

  constructor(
    private readonly client: Client,
    groups: readonly string[]
  ) {
    const { db, person } = client
    for (const { uid, claims } of model.people) if (uid && !claims) this.follow('users', uid)
    for (const id of groups) this.follow('groups', id)
    if (person.claims?.admin) {
      const list = onValue(ref(db, 'groups'), all => {
        for (const id of Object.keys(all.val() ?? {})) this.know(id)
      })
      this.ends.set('list', list)
    }
  }

  /** Also looks at a group that was not known. */
  know(id: string): void {
    if (!this.groups.has(id)) this.follow('groups', id)
  }

  /** Asks again for what was refused, as something may have changed. */
  retry(): void {
    for (const kind of ['users', 'groups'] as const) {
      for (const [id, seen] of this[kind]) if (seen === 'refused') this.follow(kind, id)
    }
  }

  close(): void {
    for (const end of this.ends.values()) end()
  }

  private follow(kind: 'users' | 'groups', id: string): void {
    const key = `${kind}/${id}`
    this.ends.get(key)?.()
    if (!this[kind].has(id)) this[kind].set(id, undefined)
    const end = onValue(
      ref(this.client.db, key),
      snapshot => {
        const value = snapshot.val()
        if (kind === 'users') this.sawUser(id, value)
        else this.sawGroup(id, value)
        this.changed.emit()
      },
      () => {
        this[kind].set(id, 'refused')
        this.changed.emit()
      }
    )
    this.ends.set(key, end)
  }

  private sawUser(id: string, value: any): void {
    const groups = Object.keys(value?.groups ?? {})
    this.users.set(id, value ? { id, name: value.name, groups } : undefined)
    for (const group of groups) this.know(group)
  }

  private sawGroup(id: string, value: any): void {
    const members = Object.keys(value?.members ?? {})
    this.groups.set(id, value ? { id, name: value.name, owner: value.owner, members } : undefined)
  }
}
