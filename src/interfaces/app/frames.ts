/**
 * Pages of the app that stand in a frame of it, each under a policy of its own.
 *
 * `/app/frame/artefact` runs what a model wrote (HTML, SVG). `sandbox allow-scripts` without `allow-same-origin` gives it
 * an origin that nobody shares: no cookie, no storage, no way into the page around it, and no forms, popups, downloads
 * or navigation of the top. It loads nothing and connects to nothing (`default-src 'none'`, `connect-src 'none'`); where it
 * sets its own `location`, the `frame-src 'self'` of the page around it holds. It has no bytes of its own: the page around
 * hands them over once the frame says that it is ready.
 *
 * `/app/frame/terminal` draws a terminal, by a program of the app's own that writes styles. It has no origin either, and
 * connects to nothing: its bytes come and go by a port of the page around it, so that what a terminal shows comes neither
 * to that page nor to the session.
 *
 * `/app/frame/diagram` draws what a model wrote down as a diagram, by a library that writes markup and styles. It has no
 * origin, connects to nothing and loads no picture; of scripts only the server's own run, so a handler that a diagram
 * smuggles in does not.
 */
export interface Frame {
  headers: Readonly<Record<string, string>>
  /** The page's markup, or the file of the built app that has it. */
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

// No policy speaks of connections between browsers, so the way to them is taken away before anything else runs.
const artefactPage = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Artefact</title>
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

/** The policy of a built frame: it runs our script in an origin of its own, and calls nobody. */
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

/** By their path below `/app`. */
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
