/*
 * The worker of the installed app: shows pushes, takes what other apps share, and has a page for when there is no way to the
 * server. It keeps no answer of the server: what one person has read, the next on this device does not find.
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

/** What was shared last, until the page takes it. In memory alone: it may be anything. */
let shared = null

async function share(request) {
  const form = await request.formData()
  const words = (name) => String(form.get(name) ?? '')
  // Another app of this device names nobody; a page of another site does, unless it hides that.
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
      // A push that comes twice shows once.
      tag: id,
      icon: '/app/icons/192.png',
      data: { url: action_url || '/app/inbox' },
    }),
  )
})

/** Leads to pages of the app alone: whoever wrote the notification may be anybody. */
function pageFor(url) {
  const { origin, pathname, href } = new URL(url, self.location.origin)
  return origin === self.location.origin && /^\/app(\/|$)/.test(pathname) ? href : '/app/inbox'
}

self.addEventListener('notificationclick', (event) => {
  event.notification.close()
  event.waitUntil(self.clients.openWindow(pageFor(event.notification.data.url)))
})
