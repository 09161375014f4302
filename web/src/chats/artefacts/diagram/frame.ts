/**
 * The program of the frame in which diagrams are drawn. What draws them (Mermaid) writes markup and styles, which the policy
 * of the app refuses, and its source is a model's: so it has a frame without an origin, which reaches nothing
 * (src/interfaces/app/frames.ts), and the library is read once somebody opens a diagram. It is the build with all in one file.
 */
import './frame.css'
import type { ToFrame, Zoom } from './messages.ts'
import library from '@mermaid-js/tiny/dist/mermaid.tiny.js?url'
import { shorten } from '../../../../../src/core/text/shorten.ts'

interface Mermaid {
  initialize(settings: object): void
  render(id: string, source: string): Promise<{ svg: string }>
}

/** The longest source: a diagram is laid out in one go, and nothing else of the frame moves meanwhile. */
const MOST_CHARACTERS = 20_000
const MOST_EDGES = 300

const place = document.getElementById('diagram')!

/** The drawing, with its own width in pixels; null while nothing is drawn. */
let drawing: { svg: SVGSVGElement; width: number } | null = null

window.addEventListener('message', ({ source, data }) => {
  if (source !== window.parent) return
  const message = data as ToFrame
  if (message.type === 'zoom') zoom(message.to)
  else void show(message)
})
const keys: Record<string, Zoom> = { '+': 'in', '=': 'in', '-': 'out', '0': 'fit', '1': 'full' }
window.addEventListener('keydown', ({ key, ctrlKey, altKey, metaKey }) => {
  const to = keys[key]
  if (to !== undefined && !ctrlKey && !altKey && !metaKey) zoom(to)
})
window.parent.postMessage('ready', '*')

async function show({ source, scheme }: Extract<ToFrame, { type: 'draw' }>): Promise<void> {
  document.documentElement.style.colorScheme = scheme
  drawing = null
  try {
    if (source.length > MOST_CHARACTERS)
      throw new Error(`It has ${source.length} characters; up to ${MOST_CHARACTERS} are drawn.`)
    const mermaid = await read()
    mermaid.initialize({
      startOnLoad: false,
      // No links, no functions, and labels as text; a diagram cannot set these otherwise.
      securityLevel: 'strict',
      secure: [
        'secure',
        'securityLevel',
        'startOnLoad',
        'maxTextSize',
        'maxEdges',
        'htmlLabels',
        'suppressErrorRendering',
      ],
      htmlLabels: false,
      maxTextSize: MOST_CHARACTERS,
      maxEdges: MOST_EDGES,
      suppressErrorRendering: true,
      theme: scheme === 'dark' ? 'dark' : 'neutral',
      fontFamily: 'system-ui, sans-serif',
    })
    const { svg } = await mermaid.render('drawn', source)
    place.innerHTML = svg
    const drawn = place.querySelector('svg')
    if (drawn === null) throw new Error('Nothing was drawn.')
    for (const link of drawn.querySelectorAll('a')) link.replaceWith(...link.childNodes)
    drawn.setAttribute('role', 'img')
    if (!drawn.querySelector(':scope > title')) drawn.setAttribute('aria-label', 'Diagram')
    const { width } = drawn.viewBox.baseVal
    drawing = { svg: drawn, width: width > 0 ? width : drawn.clientWidth }
    zoom('fit')
  } catch (error) {
    refuse(source, error instanceof Error ? error.message : String(error))
  }
  place.removeAttribute('aria-busy')
  window.parent.postMessage('drawn', '*')
}

const STEP = 1.25
const NEAREST = 8
const FARTHEST = 0.1

/** Draws larger or smaller: the window scrolls over a drawing that is larger than it. */
function zoom(to: Zoom): void {
  if (drawing === null) return
  const { svg, width } = drawing
  if (to === 'fit') {
    Object.assign(svg.style, { width: '', maxWidth: '', maxHeight: 'calc(100dvh - 32px)' })
    return
  }
  const now = svg.getBoundingClientRect().width / width
  const wished = to === 'full' ? 1 : to === 'in' ? now * STEP : now / STEP
  const scale = Math.min(NEAREST, Math.max(FARTHEST, wished))
  Object.assign(svg.style, { width: `${width * scale}px`, maxWidth: 'none', maxHeight: 'none' })
}

/** The library, read once: another look draws the same diagram anew. */
let reading: Promise<Mermaid> | undefined
const read = (): Promise<Mermaid> => (reading ??= load())

function load(): Promise<Mermaid> {
  const { promise, resolve, reject } = Promise.withResolvers<Mermaid>()
  const script = document.createElement('script')
  script.src = library
  script.addEventListener('load', () => resolve((globalThis as unknown as { mermaid: Mermaid }).mermaid))
  script.addEventListener('error', () => reject(new Error('What draws diagrams could not be loaded. Open it again.')))
  document.head.append(script)
  return promise
}

/** Shows the source as it was written, with what its reader said of it. */
function refuse(source: string, why: string): void {
  const box = document.createElement('section')
  const said = document.createElement('p')
  said.setAttribute('role', 'alert')
  said.textContent = 'This diagram cannot be drawn:'
  box.append(said, block(why), block(source))
  place.replaceChildren(box)
}

function block(text: string): HTMLElement {
  const made = document.createElement('pre')
  made.tabIndex = 0
  made.textContent = shorten(text, 100_000)
  return made
}
