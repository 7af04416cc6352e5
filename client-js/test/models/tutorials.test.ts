// The pages of docs/models, block by block, as a reader would try them: sh, TypeScript and
// Go blocks are run against the server that the page starts; a block of JSON or text right
// behind one is what it prints. Other JSON is part of the model's data, or of its rules.

import { execFile, execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import ts from 'typescript'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { needBuild } from '../support/build.js'
import { compilerErrors } from '../support/compiler.js'
import { GoPages } from '../support/go-pages.js'
import { Server } from '../support/server.js'
import { names, parsed, root } from './steps.js'

const pages = join(root, 'docs/models')
const cache = join(import.meta.dirname, '../.cache')
const long = process.env.DOGWOOD_TIER === 'long'

interface Block {
  kind: string
  code: string
  line: number
  /** Nothing is between the block before and this one. */
  answers: boolean
}

function blocksOf(page: string): Block[] {
  const text = readFileSync(join(pages, `${page}.md`), 'utf8')
  let end = 0
  return [...text.matchAll(/^( *)```(\w.*)\n([\s\S]*?)^ *```$/gm)].map(match => {
    const [all, indent, kind, code] = match as unknown as [string, string, string, string]
    const answers = text.slice(end, match.index).trim() === '' && end > 0
    end = match.index + all.length
    const line = text.slice(0, match.index).split('\n').length
    return { kind, code: code.replaceAll(`\n${indent}`, '\n'), line, answers }
  })
}

beforeAll(needBuild)

const goPages = new GoPages(root, () =>
  names.map(name => [name, blocksOf(name).find(({ kind }) => kind === 'go')!.code] as const)
)
afterAll(() => goPages.remove())

for (const model of names) {
  describe(model, () => {
    const reader = new Reader(model)
    beforeAll(() => mkdirSync(cache, { recursive: true }))
    afterAll(() => reader.close())
    for (const block of blocksOf(model)) {
      test(`line ${block.line}: ${block.kind}`, () => reader.read(block))
    }
  })
}

test('there is a page for each model, and nothing else', () => {
  expect(readdirSync(pages).sort()).toEqual(['README.md', ...names.map(name => `${name}.md`)].sort())
})

// What only one model has to tell, before the programs.
const own: Record<string, string[]> = { 'owner-storage': ['Landing'] }

// Models that have a second form tell of it last.
const isDeclared = (model: string) => existsSync(join(root, 'testdata/models', model, 'declared.json'))

test('each page shows the same things', () => {
  for (const model of names) {
    const second = isDeclared(model)
    const kinds = new Set(blocksOf(model).map(({ kind }) => kind))
    const all = [
      'go',
      'json',
      'json data',
      ...(second ? ['json declared'] : []),
      'json rules',
      'sh',
      'text',
      'ts'
    ]
    expect([...kinds].sort(), model).toEqual(all)
    const text = readFileSync(join(pages, `${model}.md`), 'utf8')
    const headings = [...text.matchAll(/^## (.*)$/gm)].map(([, heading]) => heading)
    expect(headings, model).toEqual([
      'The tree',
      'The rules in short',
      'An update',
      'An update that is refused',
      'Reading what one needs',
      ...(own[model] ?? []),
      'In TypeScript',
      'In Go',
      ...(second ? ['The second form'] : [])
    ])
  }
})

test('the programs in TypeScript have the right types', () => {
  mkdirSync(cache, { recursive: true })
  const files = names.flatMap(model =>
    blocksOf(model)
      .filter(({ kind }) => kind === 'ts')
      .map(({ code, line }) => {
        const file = join(cache, `${model}-${line}.ts`)
        writeFileSync(file, code)
        return file
      })
  )
  expect(compilerErrors(files, '--types', 'node')).toEqual([])
})

/** Does what a page says. */
class Reader {
  private server?: Server
  private printed = '' // by the last program
  private variables = '' // that shell blocks have set
  private folder?: string

  constructor(private readonly model: string) {}

  async read({ kind, code, answers, line }: Block): Promise<void> {
    if (kind === 'sh') return this.shell(code)
    if (kind === 'ts') return this.typescript(code, line)
    if (kind === 'go') return this.golang(code)
    if (kind === 'json data') return expect(parsed(this.model, 'data')).toMatchObject(JSON.parse(code))
    if (kind === 'json rules')
      return expect(parsed(this.model, 'rules').rules).toMatchObject(JSON.parse(code))
    if (kind === 'json declared')
      return expect(parsed(this.model, 'rules.declared').rules).toMatchObject(JSON.parse(code))
    expect(answers, 'shows what the block before it prints').toBe(true)
    if (kind === 'json') expect(JSON.parse(this.printed)).toEqual(JSON.parse(code))
    else if (kind === 'text') expect(this.printed.trim()).toBe(code.trim())
    else expect.fail(`nobody runs ${kind}`)
  }

  async close(): Promise<void> {
    await this.server?.stop()
    if (this.folder) rmSync(this.folder, { recursive: true })
  }

  private async shell(code: string): Promise<void> {
    const [program, command, ...args] = code.trim().split(/\s+/)
    if (program === 'dogwood' && command === 'dev') {
      this.server = await new Server(args).start()
      return
    }
    await this.run('sh', ['-ec', this.variables + this.here(code)])
    for (const [line] of code.matchAll(/^[A-Z]+=.*\n/gm)) this.variables += line
  }

  private async typescript(code: string, line: number): Promise<void> {
    const { outputText } = ts.transpileModule(code, {
      compilerOptions: {
        target: ts.ScriptTarget.ES2022,
        module: ts.ModuleKind.ESNext,
        verbatimModuleSyntax: true
      }
    })
    const file = join(cache, `${this.model}-${line}.mjs`)
    writeFileSync(file, this.here(outputText))
    await this.run(process.execPath, [file])
  }

  // In a module of its own, which has this one from here. Of a workspace everything is in the
  // build cache; a copy under another version would be compiled anew. Below tier long, the programs
  // of all pages are linked as one.
  private async golang(code: string): Promise<void> {
    if (!long) {
      this.printed = await goPages.run(this.model, this.server!.host)
      return
    }
    const folder = (this.folder ??= mkdtempSync(join(tmpdir(), 'dogwood-tutorial-')))
    const go = /^go .*$/m.exec(readFileSync(join(root, 'go.mod'), 'utf8'))![0]
    writeFileSync(join(folder, 'go.mod'), `module tutorial\n${go}\n`)
    writeFileSync(join(folder, 'go.work'), `${go}\nuse .\nuse ${root}\n`)
    writeFileSync(join(folder, 'main.go'), this.here(code))
    execFileSync('gofmt', ['-l', '-e', join(folder, 'main.go')])
    const env = { ...process.env, GOFLAGS: '-trimpath -ldflags=-s', GOWORK: '' }
    await this.run('go', ['run', '.'], { cwd: folder, env })
  }

  private async run(program: string, args: string[], options: object = {}): Promise<void> {
    const { stdout } = await promisify(execFile)(program, args, { cwd: cache, ...options })
    this.printed = stdout
  }

  // The server has another port than on the page, and files are those of the repository.
  private here(code: string): string {
    const { port } = this.server!
    return code
      .replaceAll('localhost:9000', `127.0.0.1:${port}`)
      .replace("'localhost', 9000", `'127.0.0.1', ${port}`)
      .replaceAll('-T testdata', `-T ${root}/testdata`)
  }
}
