/*
 * The service worker: shows push notifications, receives shared content, and serves the offline page. It caches no server
 * responses, so that the next user of this device can't see them.
 */
const KEPT = 'offline-1'
const OFFLINE = ['/app/offline.html', '/app/offline.css', '/app/seal.svg']

self.addEventListener('install', (event) => {
  event.waitUntil(
    caches
      .open(KEPT)
      .then((cache) => cache.addAll(OFFLINE))
      .then(() => self.skipWaiting()),
  )
})

self.addEventListener('activate', (event) => {
  event.waitUntil(
    caches
      .keys()
      .then((names) => Promise.all(names.filter((name) => name !== KEPT).map((name) => caches.delete(name))))
      .then(() => self.clients.claim()),
  )
})

self.addEventListener('fetch', (event) => {
  const { request } = event
  const { origin, pathname } = new URL(request.url)
  if (origin !== self.location.origin) return
  if (request.method === 'POST' && pathname === '/app/share') event.respondWith(share(request))
  else if (request.method !== 'GET') return
  else if (request.mode === 'navigate') event.respondWith(fetch(request).catch(() => caches.match('/app/offline.html')))
  else if (OFFLINE.includes(pathname)) event.respondWith(fetch(request).catch(() => caches.match(pathname)))
})

/** The last shared content, until the page takes it. Kept in memory only, since it can be anything. */
let shared = null

async function share(request) {
  const form = await request.formData()
  const words = (name) => String(form.get(name) ?? '')
  // Web pages send a referrer unless they hide it; other apps don't.
  const from = /^https?:/.test(request.referrer) ? new URL(request.referrer).origin : null
  shared = {
    from: from === self.location.origin ? null : from,
    title: words('title'),
    text: words('text'),
    url: words('url'),
    files: form.getAll('files').filter((file) => file instanceof File && file.size > 0),
  }
  return Response.redirect('/app/share', 303)
}

self.addEventListener('message', (event) => {
  if (event.data !== 'take what was shared') return
  event.ports[0].postMessage(shared)
  shared = null
})

self.addEventListener('push', (event) => {
  const { id, title, body, action_url } = event.data ? event.data.json() : {}
  event.waitUntil(
    self.registration.showNotification(title || 'Ukiyo', {
      body: body || '',
      // Shows a repeated push once.
      tag: id,
      icon: '/app/icons/192.png',
      data: { url: action_url || '/app/inbox' },
    }),
  )
})

/** Only pages of the app, since anyone could have written the notification. */
function pageFor(url) {
  const { origin, pathname, href } = new URL(url, self.location.origin)
  return origin === self.location.origin && /^\/app(\/|$)/.test(pathname) ? href : '/app/inbox'
}

self.addEventListener('notificationclick', (event) => {
  event.notification.close()
  event.waitUntil(self.clients.openWindow(pageFor(event.notification.data.url)))
})
