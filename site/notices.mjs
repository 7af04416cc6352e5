// The licences of the packages that are in the pages, in notices.json, from where
// "go run ./internal/notices" takes them into THIRD_PARTY.txt. A build leaves a list of what it
// has put into the pages (.vitepress/config.mjs), which is less than what is installed.
//
//	node notices.mjs          compares notices.json with the last build
//	node notices.mjs --write  writes it: npm run notices

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundledFile } from './.vitepress/pages.mjs'

const here = dirname(fileURLToPath(import.meta.url))
const file = join(here, 'notices.json')

/** What is in the pages, but is no module of the build: icons of the theme, in its CSS. */
const drawings = ['@iconify-json/simple-icons']
const lucide = () => ({ name: 'icons of Lucide', version: '', licence: ours('lucide.txt') })

const ours = name => readFileSync(join(here, 'licences', name), 'utf8').trim()

/** Licences of packages that do not bring them along. */
const missing = { '@docsearch/css': 'docsearch-css.txt' }

/** The texts of the files of a package that have its licence. */
function licenceOf(folder, { name, license }) {
  const texts = readdirSync(folder)
    .filter(name => /^(licen[cs]e|copying|notice)(\.(md|txt))?$/i.test(name))
    .sort()
    // Vite adds the licences of what it is built of, none of which gets into pages.
    .map(name => readFileSync(join(folder, name), 'utf8').replace(/^# Licenses of bundled dependencies[^]*/m, ''))
  if (texts.length === 0 && license === 'CC0-1.0') return 'Public domain: https://creativecommons.org/publicdomain/zero/1.0/'
  if (texts.length === 0 && missing[name]) return ours(missing[name])
  if (texts.length === 0) throw new Error(`${folder} has no licence`)
  return texts.map(text => text.replaceAll('\r\n', '\n').trim()).join('\n')
}

if (!existsSync(bundledFile)) throw new Error('the site is not built: npm run build')
const packages = [...new Set([...JSON.parse(readFileSync(bundledFile, 'utf8')), ...drawings])].sort()
const notices = packages.map(name => {
  const folder = join(here, 'node_modules', name)
  const about = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  return { name, version: about.version, licence: licenceOf(folder, about) }
})
notices.push(lucide())
const text = `${JSON.stringify(notices, null, 2)}\n`

if (process.argv[2] === '--write') writeFileSync(file, text)
else if (!existsSync(file) || readFileSync(file, 'utf8') !== text) {
  console.error('notices.json is not about the packages in the pages: "npm run notices", and then "go run ./internal/notices" in the root')
  process.exitCode = 1
}
