// One Chromium for all files of browser tests. Vitest runs this before the first and after the last.

import { type Browser, chromium } from 'playwright-core'
import { inject } from 'vitest'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  export interface ProvidedContext {
    /** The address at which Playwright has the browser. */
    browser: string
  }
}

/** Starts the browser, and returns what ends it. */
export default async function start({ provide }: TestProject): Promise<() => Promise<void>> {
  const server = await chromium.launchServer({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    host: '127.0.0.1',
    args: ['--no-sandbox']
  })
  provide('browser', server.wsEndpoint())
  return () => server.close()
}

/** The browser, for the tests of a file. To close it closes the pages of that file. */
export const connect = (): Promise<Browser> => chromium.connect(inject('browser'))
