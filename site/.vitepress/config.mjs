import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { defineConfig } from 'vitepress'
import { bundledFile, files, nav, otherFiles, pathOf, root, targetOf } from './pages.mjs'

const petal = "<ellipse cx='16' cy='8.5' rx='5.6' ry='7'/>"
const logo = `data:image/svg+xml,${encodeURIComponent(
  `<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'><g fill='#d6447f'>${[0, 90, 180, 270]
    .map(turn => `<g transform='rotate(${turn} 16 16)'>${petal}</g>`)
    .join('')}</g><circle cx='16' cy='16' r='4.2' fill='#e9c46a'/></svg>`
)}`

/** The anchor of a heading, as GitHub makes it. The links of the Markdown are written for that. */
function slugify(heading) {
  return heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M} _-]/gu, '')
    .replaceAll(' ', '-')
}

/** Languages that the highlighter does not know. */
const languages = { conversation: 'txt', caddy: 'txt' }

/** Makes links between files of the repository links between pages of the site. */
function links(md) {
  md.core.ruler.push('repository-links', state => {
    const from = relative(root, state.env.realPath ?? state.env.path).replaceAll('\\', '/')
    for (const block of state.tokens) {
      // Behind the language of a block are words for the test that runs it.
      if (block.type === 'fence') block.info = languages[/^\S*/.exec(block.info)[0]] ?? /^\S*/.exec(block.info)[0]
      for (const token of block.children ?? []) {
        if (token.type === 'link_open') token.attrSet('href', targetOf(from, token.attrGet('href')))
      }
    }
  })
}

/** Escapes text as the highlighter does. */
const escaped = text => text.replaceAll('&', '&#x26;').replaceAll('<', '&#x3C;')

/**
 * SITE_COLOURS=off builds without colours in code, which take a quarter of the time. The tests do so
 * in tier full.
 */
const colourless = process.env.SITE_COLOURS === 'off' && { highlight: text => `<pre v-pre tabindex="0"><code>${escaped(text.trimEnd())}</code></pre>` }

/**
 * Renders a page for the search. The search drops all tags, so it needs no colours, and each page is
 * rendered once: the build of the server asks for it, too.
 */
const searchable = new Map()
function renderForSearch(source, env, md) {
  const before = searchable.get(env.path)
  if (before?.source === source) return before.html
  const { highlight } = md.options
  md.set({ highlight: escaped })
  try {
    const html = md.render(source, env)
    searchable.set(env.path, { source, html })
    return html
  } finally {
    md.set({ highlight })
  }
}

/** Finds the packages of this folder for the pages, which are outside of it. */
const packages = {
  name: 'packages-of-pages',
  enforce: 'pre',
  resolveId(source, importer, options) {
    if (!/^vue(\/|$)/.test(source) || !importer?.includes('.md')) return null
    return this.resolve(source, join(root, 'site', 'package.json'), { ...options, skipSelf: true })
  }
}

/** The package that a module of the build is from. Some modules are made by tools. */
function packageOf(id) {
  if (/^\0?vite\//.test(id)) return 'vite'
  if (/^\0?(\/)?plugin-vue/.test(id)) return '@vitejs/plugin-vue'
  return /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(id.replaceAll('\\', '/'))?.[1]
}

/** Notes which packages are in the pages, for notices.mjs: not those whose code is left out. */
const bundled = {
  name: 'bundled-packages',
  apply: (_, { command, isSsrBuild }) => command === 'build' && !isSsrBuild,
  generateBundle(_, bundle) {
    const names = Object.values(bundle)
      .flatMap(chunk => Object.entries(chunk.modules ?? {}))
      .filter(([id, { renderedLength }]) => renderedLength > 0 || /\.css(\?|$)/.test(id))
      .map(([id]) => packageOf(id))
      .filter(Boolean)
    mkdirSync(dirname(bundledFile), { recursive: true })
    writeFileSync(bundledFile, JSON.stringify([...new Set(names)].sort()))
  }
}

const sidebarOf = items =>
  items.map(item => ({
    text: item.text,
    link: `/${pathOf(item.page).replace(/(^|\/)index\.md$/, '$1')}`,
    ...(item.items && { items: sidebarOf(item.items), collapsed: true })
  }))

export default defineConfig({
  title: 'Dogwood',
  description: 'A realtime JSON tree database that speaks the Firebase protocol',
  lang: 'en',
  base: process.env.SITE_BASE || '/',
  srcDir: '..',
  srcExclude: otherFiles(),
  rewrites: Object.fromEntries(files.map(file => [file, pathOf(file)])),
  head: [['link', { rel: 'icon', href: logo }]],
  lastUpdated: false,
  metaChunk: true,
  ignoreDeadLinks: 'localhostLinks', // those of a reader's own server
  markdown: {
    // Unlike the default ones, all their colours have enough contrast.
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-default' },
    anchor: { slugify },
    config: links,
    ...colourless
  },
  themeConfig: {
    logo,
    search: { provider: 'local', options: { _render: renderForSearch } },
    outline: [2, 3],
    nav: [
      { text: 'Start', link: '/start' },
      { text: 'Concepts', link: '/concepts' },
      { text: 'Operate', link: '/deployment' },
      { text: 'Reference', items: sidebarOf(nav.find(group => group.text === 'Reference').items) }
    ],
    sidebar: nav.map(group => ({ text: group.text, items: sidebarOf(group.items) })),
    socialLinks: [{ icon: 'github', link: 'https://github.com/dogwooddb/dogwood' }],
    footer: { message: 'Apache-2.0. This site comes with the binary: dogwood docs.' }
  },
  vite: {
    build: { chunkSizeWarningLimit: 4000 },
    plugins: [packages, bundled]
  }
})
