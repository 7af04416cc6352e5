// The tutorials of docs/, as a reader would follow them: blocks that name a file in
// their first line are saved there, and the others are run.

import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'

const checkout = join(import.meta.dirname, '..', '..', '..')

/** Is false for what a fresh checkout does not have. */
const isSource = (path: string): boolean =>
  !['.git', '.cache', 'node_modules'].includes(basename(path)) && path !== join(checkout, 'client-js', 'dist')

export interface Block {
  /** The heading above it. */
  readonly heading: string
  readonly language: string
  readonly text: string
}

/** The blocks of a page, in order. */
export function blocksOf(page: string): Block[] {
  const text = readFileSync(join(checkout, 'docs', page), 'utf8')
  const blocks: Block[] = []
  let heading = ''
  for (const [, title, language, body] of text.matchAll(/^## (.*)$|^```(\w*)\n([\s\S]*?)^```$/gm)) {
    if (title) heading = title
    else blocks.push({ heading, language: language!, text: body! })
  }
  return blocks
}

/** The folder that a reader makes next to a checkout. */
export class Folder {
  private constructor(private readonly parent: string) {}

  /** Copies the checkout, so that what the reader installs there changes no other test. */
  static async make(): Promise<Folder> {
    const parent = await mkdtemp(join(tmpdir(), 'tutorial-'))
    await cp(checkout, join(parent, 'dogwood'), { recursive: true, filter: isSource })
    return new Folder(parent)
  }

  get path(): string {
    return join(this.parent, 'chat')
  }

  /** Runs a block of commands next to the checkout. */
  async install({ text }: Block): Promise<void> {
    const env = {
      ...process.env,
      GOFLAGS: `${process.env.GOFLAGS ?? ''} -trimpath`.trim(), // so that the next run finds it in the cache
      npm_config_audit: 'false',
      npm_config_fund: 'false',
      npm_config_prefer_offline: 'true'
    }
    await promisify(execFile)('sh', ['-ec', text], { cwd: this.parent, env, maxBuffer: 64 << 20 })
  }

  remove(): Promise<void> {
    return rm(this.parent, { recursive: true })
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
