// The tutorials of docs/, as a reader would follow them: blocks that name a file in
// their first line are saved there, and the others are run.

import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..', '..')

export interface Block {
  /** The heading above it. */
  readonly heading: string
  readonly language: string
  readonly text: string
}

/** The blocks of a page, in order. */
export function blocksOf(page: string): Block[] {
  const text = readFileSync(join(root, '..', 'docs', page), 'utf8')
  const blocks: Block[] = []
  let heading = ''
  for (const [, title, language, body] of text.matchAll(/^## (.*)$|^```(\w*)\n([\s\S]*?)^```$/gm)) {
    if (title) heading = title
    else blocks.push({ heading, language: language!, text: body! })
  }
  return blocks
}

/** A folder of a reader, who has installed the package. */
export class Folder {
  private constructor(readonly path: string) {}

  static async make(): Promise<Folder> {
    const folder = new Folder(await mkdtemp(join(tmpdir(), 'tutorial-')))
    writeFileSync(join(folder.path, 'package.json'), '{"type": "module"}')
    mkdirSync(join(folder.path, 'node_modules', '@dogwood'), { recursive: true })
    symlinkSync(root, join(folder.path, 'node_modules', '@dogwood', 'client'))
    return folder
  }

  /** Saves a block under the name in its first line. JSON and HTML go without that line. */
  save({ language, text }: Block, replace: (text: string) => string): void {
    const [, name] = /^(?:\/\/|<!--) ([\w.]+)/.exec(text) ?? []
    if (!name) throw new Error(`this names no file:\n${text}`)
    const body = language === 'js' ? text : text.slice(text.indexOf('\n') + 1)
    writeFileSync(join(this.path, name), replace(body))
  }

  read(name: string): Buffer {
    return readFileSync(join(this.path, name))
  }
}
