/**
 * The program of the frame that draws diagrams. Mermaid inserts markup and styles, which the app's content security
 * policy blocks, and its input comes from a model. So it runs in a frame with an opaque origin and no network access.
 * Loaded with the first diagram, as a single file.
 */
import './frame.css'
import type { ToFrame, Zoom } from './messages.ts'
import library from '@mermaid-js/tiny/dist/mermaid.tiny.js?url'
import { shorten } from '../../../../../src/core/text/shorten.ts'

interface Mermaid {
  initialize(settings: object): void
  render(id: string, source: string): Promise<{ svg: string }>
}

/** The source limit: layout blocks the frame's main thread. */
const MAX_CHARACTERS = 20_000
const MAX_EDGES = 300

const place = document.getElementById('diagram')!

/** The drawing with its natural width in pixels; null if nothing is drawn. */
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
    if (source.length > MAX_CHARACTERS)
      throw new Error(`The diagram has ${source.length} characters. The limit is ${MAX_CHARACTERS}.`)
    const mermaid = await read()
    mermaid.initialize({
      startOnLoad: false,
      // No links or scripts, and labels as text. Diagrams can't override this.
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
      maxTextSize: MAX_CHARACTERS,
      maxEdges: MAX_EDGES,
      suppressErrorRendering: true,
      theme: scheme === 'dark' ? 'dark' : 'neutral',
      fontFamily: 'system-ui, sans-serif',
    })
    const { svg } = await mermaid.render('drawn', source)
    place.innerHTML = svg
    const svgElement = place.querySelector('svg')
    if (svgElement === null) throw new Error('The diagram is empty.')
    for (const link of svgElement.querySelectorAll('a')) link.replaceWith(...link.childNodes)
    svgElement.setAttribute('role', 'img')
    if (!svgElement.querySelector(':scope > title')) svgElement.setAttribute('aria-label', 'Diagram')
    const { width } = svgElement.viewBox.baseVal
    drawing = { svg: svgElement, width: width > 0 ? width : svgElement.clientWidth }
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

function zoom(to: Zoom): void {
  if (drawing === null) return
  const { svg, width } = drawing
  if (to === 'fit') {
    Object.assign(svg.style, { width: '', maxWidth: '', maxHeight: 'calc(100dvh - 32px)' })
    return
  }
  const now = svg.getBoundingClientRect().width / width
  const target = to === 'full' ? 1 : to === 'in' ? now * STEP : now / STEP
  const scale = Math.min(NEAREST, Math.max(FARTHEST, target))
  Object.assign(svg.style, { width: `${width * scale}px`, maxWidth: 'none', maxHeight: 'none' })
}

/** Loads the library once; a theme change redraws the diagram. */
let reading: Promise<Mermaid> | undefined
const read = (): Promise<Mermaid> => (reading ??= load())

function load(): Promise<Mermaid> {
  const { promise, resolve, reject } = Promise.withResolvers<Mermaid>()
  const script = document.createElement('script')
  script.src = library
  script.addEventListener('load', () => resolve((globalThis as unknown as { mermaid: Mermaid }).mermaid))
  script.addEventListener('error', () =>
    reject(new Error('The diagram library couldn’t be loaded. Close the diagram and open it again.')),
  )
  document.head.append(script)
  return promise
}

function refuse(source: string, why: string): void {
  const box = document.createElement('section')
  const notice = document.createElement('p')
  notice.setAttribute('role', 'alert')
  notice.textContent = 'This diagram can’t be drawn:'
  box.append(notice, block(why), block(source))
  place.replaceChildren(box)
}

function block(text: string): HTMLElement {
  const code = document.createElement('pre')
  code.tabIndex = 0
  code.textContent = shorten(text, 100_000)
  return code
}
