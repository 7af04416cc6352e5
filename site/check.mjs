// Checks a built site: every link between its pages leads to a page, and behind # to an
// anchor in it; every page of nav.json is there; and the whole is small enough for the binary.
//
//	node check.mjs .vitepress/dist

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join, posix, relative } from 'node:path'
import { gzipSync } from 'node:zlib'
import { files, pathOf } from './.vitepress/pages.mjs'

/** The most that the site may take in the binary, in bytes. */
const most = 2_000_000

const dist = process.argv[2]
const base = process.env.SITE_BASE || '/'
const problems = []

const all = readdirSync(dist, { recursive: true, withFileTypes: true })
  .filter(entry => entry.isFile())
  .map(entry => relative(dist, join(entry.parentPath ?? entry.path, entry.name)).replaceAll('\\', '/'))
const pages = new Map(all.filter(file => file.endsWith('.html')).map(file => [file, readFileSync(join(dist, file), 'utf8')]))
const anchors = new Map([...pages].map(([file, html]) => [file, new Set([...html.matchAll(/\sid="([^"]*)"/g)].map(m => m[1]))]))

/** The file that a link of a page leads to, or null for one that leads out of the site. */
function fileOf(page, href) {
  if (/^([a-z]+:|\/\/)/i.test(href)) return null
  let path = decodeURI(href.replace(/[?#].*$/, ''))
  if (path === '') return page
  if (path.startsWith(base)) path = path.slice(base.length)
  else if (path.startsWith('/')) return path
  else path = posix.join(posix.dirname(page), path)
  if (path === '.' || path === '') return 'index.html'
  return path.endsWith('/') ? `${path}index.html` : path
}

let links = 0
for (const [page, html] of pages) {
  if (page === '404.html') continue
  for (const [, attribute, text] of html.matchAll(/\s(href|src)="([^"]*)"/g)) {
    const href = text.replaceAll('&amp;', '&')
    const file = fileOf(page, href)
    if (file === null) {
      if (attribute === 'src' && !href.startsWith('data:')) problems.push(`${page} loads ${href}, from another site`)
      continue
    }
    links++
    const anchor = decodeURIComponent(/#(.*)$/.exec(href)?.[1] ?? '')
    if (!existsSync(join(dist, file)) || !statSync(join(dist, file)).isFile()) problems.push(`${page} links to ${href}, which does not exist`)
    else if (anchor && !anchors.get(file)?.has(anchor)) problems.push(`${page} links to ${href}: ${file} has no such anchor`)
  }
}
for (const file of files) {
  const page = pathOf(file).replace(/\.md$/, '.html')
  if (!pages.has(page)) problems.push(`${file} has no page: is it there?`)
}
const size = all.reduce((sum, file) => sum + gzipSync(readFileSync(join(dist, file))).length, 0)
if (size > most) problems.push(`the site takes ${size} bytes, compressed; at most ${most} belong into the binary`)

for (const problem of new Set(problems)) console.error(problem)
console.log(`${pages.size} pages, ${links} links, ${Math.round(size / 1024)} KiB compressed`)
process.exitCode = problems.length > 0 || links === 0 ? 1 : 0
