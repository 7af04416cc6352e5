// A page without a browser. Import it before a framework: some look for it when they are loaded.

import { JSDOM } from 'jsdom'

const dom = new JSDOM('<!doctype html><body></body>', { pretendToBeVisual: true })
const names = [
  'document',
  'navigator',
  'Node',
  'Element',
  'HTMLElement',
  'SVGElement',
  'Text',
  'Comment',
  'DocumentFragment',
  'HTMLMediaElement',
  'MutationObserver',
  'requestAnimationFrame',
  'cancelAnimationFrame'
] as const
for (const name of names)
  Object.defineProperty(globalThis, name, { value: dom.window[name], configurable: true })
;(globalThis as any).window = dom.window

export const { document } = dom.window

// Its events know no signals but its own.
const add = document.addEventListener
document.addEventListener = (type: string, listener: any, options: any) =>
  add.call(document, type, listener, options?.signal ? undefined : options)
