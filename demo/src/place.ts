// One place of the tree: its value as it changes, and a field to write to it. A place with
// few rows below it is listened to and shown as a whole. Any other place is shown as a page
// of keys, with the values that are found beside them.

import { ref, set } from '@dogwood/client'
import { outcomeOf, showOutcome } from './attempt.js'
import { touches } from './changes.js'
import type { Client } from './client.js'
import { debounced, fill, h } from './dom.js'
import type { Person } from './model.js'
import { clientOf } from './operations.js'
import { RefusedError, shallow } from './rest.js'
import { watch } from './watched.js'

const MOST_READS = 40 // shallow reads, to find out how much there is
const PAGE = 30 // keys of a place that is not shown as a whole
const MOST_LINES = 400 // of a value
const LONGEST = 2000 // characters of a line

/** What is at a place: a value, some children by key, or undefined for what was not read. */
type Outline = { value: unknown } | { children: [string, Outline | undefined][]; count: number }

/** Reads what is at a place, with a bound of the reads that are left. */
async function outline(reader: Person, path: string, left: { reads: number }): Promise<Outline | undefined> {
  if (left.reads-- <= 0) return undefined
  const answer = await shallow(reader, path, PAGE)
  if ('value' in answer) return { value: answer.value }
  const children: [string, Outline | undefined][] = []
  for (const key of answer.keys) children.push([key, await outline(reader, `${path}/${key}`, left)])
  return { children, count: answer.count }
}

/** Whether all of it was read. */
const isWhole = (one: Outline | undefined): boolean =>
  one !== undefined &&
  ('value' in one || (one.count === one.children.length && one.children.every(([, child]) => isWhole(child))))

/** What was read, as text. */
function lines(one: Outline | undefined, indent = ''): string[] {
  if (!one) return ['…']
  if ('value' in one) return [JSON.stringify(one.value)]
  const rest = one.count - one.children.length
  return [
    '{',
    ...one.children.flatMap(([key, child]) => {
      const [first, ...others] = lines(child, `${indent}  `)
      return [`${indent}  ${JSON.stringify(key)}: ${first}`, ...others]
    }),
    ...(rest > 0 ? [`${indent}  … ${rest.toLocaleString('en')} more`] : []),
    `${indent}}`
  ]
}

export class Place {
  readonly element = h('section', { class: 'place', 'aria-label': 'The chosen place' })
  private end = () => {}
  private again: (path: string) => void = () => {}

  constructor(private readonly client: Client) {}

  /** Tells of a write at a path. */
  told(path: string): void {
    this.again(path)
  }

  show(path: string, reader: Person): void {
    this.end()
    this.end = () => {}
    this.again = () => {}
    const value = h('pre', { class: 'source live', 'aria-live': 'off', tabindex: 0, 'aria-label': 'Value' })
    const note = h('p', { class: 'entry-by' })
    fill(
      this.element,
      h('h2', null, h('code', null, path || '/'), h('span', { class: 'tag' }, 'live')),
      path ? value : h('p', { class: 'empty' }, 'Choose a place to see its value change.'),
      note,
      path ? this.writer(path) : null
    )
    if (path) void this.look(path, reader, new Shown(value, note))
  }

  private async look(path: string, reader: Person, shown: Shown): Promise<void> {
    const soon = debounced(() => {
      if (shown.isThere) void this.look(path, reader, shown)
    }, 1000)
    this.again = write => {
      if (write === '' || touches(write, path)) soon()
    }
    const found = await outline(reader, path, { reads: MOST_READS }).catch((error: Error) => error)
    if (!shown.isThere) return
    if (found instanceof RefusedError) shown.refuse(found)
    else if (found instanceof Error) shown.tell('No connection.')
    else if (isWhole(found)) await this.listen(path, reader, shown)
    else shown.show(lines(found), 'There is more below this place than is shown. Choose what is below it.')
  }

  private async listen(path: string, reader: Person, shown: Shown): Promise<void> {
    this.again = () => {}
    const { db } = reader === this.client.person ? this.client : await clientOf(reader)
    if (!shown.isThere) return
    this.end = watch(
      ref(db, path),
      snapshot => {
        const all = JSON.stringify(snapshot.val(), null, 2).split('\n')
        shown.show(all, '')
        // It has grown: what is below is not worth the whole of it each time.
        if (all.length > MOST_LINES) queueMicrotask(() => this.grown(path, reader, shown))
      },
      error => shown.refuse(error)
    )
  }

  private grown(path: string, reader: Person, shown: Shown): void {
    if (!shown.isThere) return
    this.end()
    this.end = () => {}
    void this.look(path, reader, shown)
  }

  private writer(path: string): HTMLElement {
    const field = h('textarea', {
      rows: 2,
      spellcheck: 'false',
      'aria-label': `Value to write to ${path}`,
      placeholder: 'A value as JSON'
    })
    const result = h('div', { class: 'result', 'aria-live': 'polite' })
    const write = async (text: string) => {
      const outcome = await outcomeOf(this.client, [path], async () =>
        set(ref(this.client.db, path), JSON.parse(text))
      )
      showOutcome(result, outcome, 'Committed')
    }
    return h(
      'details',
      { class: 'writer' },
      h('summary', null, `Write here as ${this.client.person.name}`),
      h(
        'form',
        {
          onsubmit: event => {
            event.preventDefault()
            void write(field.value)
          }
        },
        field,
        h(
          'div',
          { class: 'row' },
          h('button', { type: 'submit', class: 'small' }, 'Set'),
          h('button', { type: 'button', class: 'quiet small', onclick: () => void write('null') }, 'Remove')
        ),
        result
      )
    )
  }
}

/** The lines of a value. Those that were not there before are marked. */
class Shown {
  private before?: Set<string>

  constructor(
    private readonly place: HTMLElement,
    private readonly note: HTMLElement
  ) {}

  get isThere(): boolean {
    return this.place.isConnected
  }

  refuse(error: Error): void {
    this.place.replaceChildren(error.message)
  }

  tell(note: string): void {
    this.note.textContent = note
  }

  show(all: readonly string[], note: string): void {
    const some = all
      .slice(0, MOST_LINES)
      .map(line => (line.length > LONGEST ? `${line.slice(0, LONGEST)}…` : line))
    const old = this.before
    this.place.replaceChildren(
      ...some.map(line => h('span', { class: old && !old.has(line) ? 'fresh' : '' }, `${line}\n`))
    )
    this.before = new Set(some)
    const rest = all.length - some.length
    this.note.textContent = rest > 0 ? `${rest} more lines` : note
  }
}
