// The tutorials of docs/, as a reader would follow them: blocks that name a file in
// their first line are saved there, and the others are run.

import { execFile } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { cp, mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { needBuild } from './build.js'

const checkout = join(import.meta.dirname, '..', '..', '..')

/**
 * In tier long the reader builds the client. In the lower tiers it is there: test.sh has just
 * installed its packages and built it by the same commands, for all tests.
 */
const buildsClient = process.env.DOGWOOD_TIER === 'long'

/** Is false for what a fresh checkout does not have. */
const isSource = (path: string): boolean =>
  !['.git', '.cache', 'node_modules'].includes(basename(path)) && !made.includes(path)

const made = [
  ...(buildsClient ? ['client-js/dist'] : []),
  'site/.vitepress/dist',
  'site/.vitepress/cache',
  'site/.vitepress/.temp'
].map(path => join(checkout, path))

/**
 * Where one tutorial leaves its checkout to the next, if test.sh says so: a reader of both
 * builds the client once.
 */
const left = process.env.DOGWOOD_TUTORIALS

/** The commands that build the client in the checkout. */
const builds = /^npm --prefix dogwood\/client-js .*\n/gm

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
  private constructor(
    private readonly parent: string,
    private built: boolean
  ) {}

  /** Copies the checkout, so that what the reader installs there changes no other test. */
  static async make(): Promise<Folder> {
    if (!buildsClient) needBuild()
    const parent = await mkdtemp(join(tmpdir(), 'tutorial-'))
    const copy = join(parent, 'dogwood')
    const built = left !== undefined && existsSync(left)
    if (built) await rename(left, copy)
    else await cp(checkout, copy, { recursive: true, filter: isSource })
    return new Folder(parent, built || !buildsClient)
  }

  get path(): string {
    return join(this.parent, 'chat')
  }

  /** Runs a block of commands next to the checkout. */
  async install({ text }: Block): Promise<void> {
    const env = {
      ...process.env,
      GOFLAGS: `${process.env.GOFLAGS ?? ''} -trimpath`.trim(), // so that it finds what others have compiled
      npm_config_audit: 'false',
      npm_config_fund: 'false',
      npm_config_prefer_offline: 'true'
    }
    const commands = this.built ? text.replace(builds, '') : text
    await promisify(execFile)('sh', ['-ec', commands], { cwd: this.parent, env, maxBuffer: 64 << 20 })
    this.built = true
  }

  async remove(): Promise<void> {
    if (left && this.built && !existsSync(left)) await rename(join(this.parent, 'dogwood'), left)
    await rm(this.parent, { recursive: true })
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
