// The page without a network: a service worker keeps the page itself, the client keeps the
// data. Both are kept by the browser, and only there.

declare global {
  interface Window {
    trustedTypes?: {
      createPolicy(
        name: string,
        rules: { createScriptURL(text: string): string }
      ): { createScriptURL(text: string): any }
    }
  }
}

const WORKER = '/demo/sw.js'

/** Has the page kept for when there is no network. */
export async function keepPage(): Promise<void> {
  if (!isSecureContext || !navigator.serviceWorker) return
  const policy = window.trustedTypes?.createPolicy('dogwood', {
    createScriptURL(text) {
      if (text !== WORKER) throw new TypeError('no script of this page')
      return text
    }
  })
  try {
    await navigator.serviceWorker.register(policy ? policy.createScriptURL(WORKER) : WORKER, {
      scope: '/demo/'
    })
  } catch {
    // Without it the page works, but cannot be loaded while offline.
  }
}
