// The Go programs of several pages as one, each a package of it: to link a program takes far longer
// than to compile what is new in it.

import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** The address on the pages, which each program gets from its environment. */
const ADDRESS = '"http://localhost:9000'

export class GoPages {
  private folder?: string
  private built?: Promise<string>

  /** With a checkout of the module, and the programs by the names of their pages. */
  constructor(
    private readonly module: string,
    private readonly programs: () => readonly (readonly [page: string, code: string])[]
  ) {}

  /** Runs the program of a page against a server, and returns what it prints. */
  async run(page: string, host: string): Promise<string> {
    this.built ??= this.build()
    const env = { ...process.env, DATABASE_URL: `http://${host}` }
    const { stdout } = await run(await this.built, [page], { env })
    return stdout
  }

  remove(): void {
    if (this.folder) rmSync(this.folder, { recursive: true })
  }

  private async build(): Promise<string> {
    const folder = mkdtempSync(join(tmpdir(), 'dogwood-pages-'))
    this.folder = folder
    const go = /^go .*$/m.exec(readFileSync(join(this.module, 'go.mod'), 'utf8'))![0]
    const programs = this.programs()
    for (const [page, code] of programs) this.save(folder, page, code)
    writeFileSync(join(folder, 'go.mod'), `module pages\n${go}\n`)
    writeFileSync(join(folder, 'go.work'), `${go}\nuse .\nuse ${this.module}\n`)
    const imports = programs.map(([page], i) => `\tp${i} "pages/${page}"`)
    const entries = programs.map(([page], i) => `\t\t"${page}": p${i}.Main,`)
    writeFileSync(
      join(folder, 'main.go'),
      `package main\n\nimport (\n\t"os"\n\n${imports.join('\n')}\n)\n\nfunc main() {\n` +
        `\tmap[string]func(){\n${entries.join('\n')}\n\t}[os.Args[1]]()\n}\n`
    )
    const env = { ...process.env, GOFLAGS: '-trimpath -ldflags=-s', GOWORK: '' }
    const program = join(folder, 'pages')
    await run('go', ['build', '-o', program, '.'], { cwd: folder, env })
    return program
  }

  private save(folder: string, page: string, code: string): void {
    if (!code.includes(ADDRESS)) throw new Error(`the Go program of ${page} has another address`)
    mkdirSync(join(folder, page))
    const text = code
      .replace('package main', 'package page')
      .replace('func main()', 'func Main()')
      .replaceAll(ADDRESS, 'pageServer + "')
    writeFileSync(join(folder, page, 'page.go'), text)
    const server = 'package page\n\nimport "os"\n\nvar pageServer = os.Getenv("DATABASE_URL")\n'
    writeFileSync(join(folder, page, 'server.go'), server)
  }
}
