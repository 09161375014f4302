/**
 * Frames of the app, each with its own content security policy.
 *
 * `/app/frame/artefact` runs HTML and SVG written by a model. `sandbox allow-scripts` without `allow-same-origin` gives
 * it an opaque origin: no cookies, storage or access to the page, and no forms, popups, downloads or top-level
 * navigation. It has no network access (`default-src 'none'`, `connect-src 'none'`), and the page's `frame-src 'self'`
 * limits where it can navigate. The page passes it the content once it is ready.
 *
 * `/app/frame/terminal` draws a terminal with xterm.js, which inserts styles. It has an opaque origin and no network
 * access: data passes through a message port, so a compromised terminal can't reach the page or the session.
 *
 * `/app/frame/diagram` draws diagrams written by a model, with a library that inserts markup and styles. It has an
 * opaque origin, no network access and no images. Only the server's own scripts run, so event handlers in a diagram
 * don't.
 */
export interface Frame {
  headers: Readonly<Record<string, string>>
  /** The page's markup, or its file in the built app. */
  page: { markup: string } | { file: string }
}

const artefactPolicy = [
  'sandbox allow-scripts',
  "default-src 'none'",
  "script-src 'unsafe-inline'",
  "style-src 'unsafe-inline'",
  'img-src data: blob:',
  'font-src data:',
  'media-src data: blob:',
  "connect-src 'none'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'self'",
].join('; ')

// No content security policy covers WebRTC, so its constructors are removed before anything else runs.
const artefactPage = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Artifact</title>
<script>
for (const name of ['RTCPeerConnection', 'webkitRTCPeerConnection', 'RTCDataChannel']) delete globalThis[name]
addEventListener('message', function take(event) {
  if (event.source !== parent) return
  removeEventListener('message', take)
  document.open()
  document.write(event.data)
  document.close()
})
parent.postMessage('ready', '*')
</script>
`

const noPermissions =
  'camera=(), clipboard-read=(), clipboard-write=(), display-capture=(), fullscreen=(), geolocation=(), microphone=(), payment=(), usb=()'

/** The policy of a built frame: it runs the app's scripts in an opaque origin without network access. */
const builtPolicy = [
  'sandbox allow-scripts',
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "connect-src 'none'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'self'",
]

const terminalPolicy = [...builtPolicy, "require-trusted-types-for 'script'", "trusted-types 'none'"].join('; ')

const diagramPolicy = builtPolicy.join('; ')

export const frames: ReadonlyMap<string, Frame> = new Map([
  [
    '/frame/artefact',
    {
      page: { markup: artefactPage },
      headers: {
        'content-security-policy': artefactPolicy,
        'referrer-policy': 'no-referrer',
        'x-dns-prefetch-control': 'off',
        'permissions-policy': noPermissions,
      },
    },
  ],
  [
    '/frame/diagram',
    {
      page: { file: '/frame/diagram.html' },
      headers: {
        'content-security-policy': diagramPolicy,
        'referrer-policy': 'no-referrer',
        'x-dns-prefetch-control': 'off',
        'permissions-policy': noPermissions,
      },
    },
  ],
  [
    '/frame/terminal',
    {
      page: { file: '/frame/terminal.html' },
      headers: {
        'content-security-policy': terminalPolicy,
        'referrer-policy': 'no-referrer',
        'permissions-policy': noPermissions,
      },
    },
  ],
])
