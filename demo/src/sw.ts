// The service worker: keeps the files of the page, and answers with them when the server
// does not. What the server has goes first, so that a new one shows its own page.

const CACHE = 'dogwood-demo'
const FILES = ['/demo/', '/demo/app.js', '/demo/app.css', '/demo/icon.svg']
const PATIENCE = 4000

// The types of service workers are not those of pages, and nothing else here needs them.
const worker = self as unknown as {
  addEventListener(type: string, f: (event: any) => void): void
  skipWaiting(): Promise<void>
  clients: { claim(): Promise<void> }
}

worker.addEventListener('install', event => {
  event.waitUntil(
    (async () => {
      const cache = await caches.open(CACHE)
      await cache.addAll(FILES)
      await worker.skipWaiting()
    })()
  )
})

worker.addEventListener('activate', event => event.waitUntil(worker.clients.claim()))

worker.addEventListener('fetch', event => {
  const request = event.request as Request
  const { origin, pathname } = new URL(request.url)
  if (request.method !== 'GET' || origin !== location.origin || !FILES.includes(pathname)) return
  event.respondWith(answer(request, pathname))
})

async function answer(request: Request, pathname: string): Promise<Response> {
  const cache = await caches.open(CACHE)
  try {
    const response = await fetch(request, { signal: AbortSignal.timeout(PATIENCE) })
    if (!response.ok) throw new Error(response.statusText)
    await cache.put(pathname, response.clone())
    return response
  } catch {
    return (await cache.match(pathname)) ?? Response.error()
  }
}
