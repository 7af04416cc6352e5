// The pages of the site: the Markdown files that nav.json names, and where each of them is.

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, posix, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
export const nav = JSON.parse(readFileSync(join(root, 'site', 'nav.json'), 'utf8'))

/** Where a build leaves the names of the packages that are in the pages. */
export const bundledFile = join(root, 'site', '.vitepress', 'cache', 'bundled.json')

/** Where files that are no pages are read: the links to code and tests lead there. */
const repository = 'https://github.com/dogwooddb/dogwood/blob/main/'

/** The Markdown files of the site, as paths in the repository. */
export const files = ['site/index.md', ...nav.flatMap(group => group.items.flatMap(item => [item, ...(item.items ?? [])])).map(item => item.page)]

/** The path of a page in the site, with .md at its end. */
export function pathOf(file) {
  if (file === 'README.md') return 'start.md'
  return file
    .replace(/^(docs|site)\//, '')
    .replace(/^models\/README/, 'models/index')
    .replace(/^(client-js|sdk-go)\/README/, '$1')
    .replace(/^client-js\/(\w)/, 'client-js-$1')
    .toLowerCase()
}

const paths = new Map(files.map(file => [file, pathOf(file)]))

/** Every other Markdown file of the repository: none of them is a page. */
export function otherFiles(folder = root) {
  return readdirSync(folder, { withFileTypes: true }).flatMap(entry => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return /^(node_modules|\..*)$/.test(entry.name) ? [] : otherFiles(path)
    const file = relative(root, path).replaceAll('\\', '/')
    return file.endsWith('.md') && !paths.has(file) ? [file] : []
  })
}

/** The target of a link that the file `from` has, as the site has it. */
export function targetOf(from, link) {
  if (/^([a-z]+:|#|\/)/i.test(link)) return link
  const [, path, rest] = /^([^?#]*)(.*)$/.exec(link)
  const file = posix.join(posix.dirname(from), path).replace(/\/$/, '')
  const page = paths.get(file) ?? paths.get(`${file}/README.md`)
  if (page) return `/${page.replace(/(^|\/)index\.md$/, '$1')}${rest}`
  return repository + file + rest
}
