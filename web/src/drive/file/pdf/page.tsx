import { TextLayer } from 'pdfjs-dist'
import { useEffect, useRef, useState } from 'react'
import type { PDFPageProxy, Pdf } from './open-pdf.ts'
import { type Size, type Zoom, densityFor, sane, scaleFor } from './size.ts'

/** The limit of selectable text pieces per page, since each is an element. */
const MAX_PIECES = 5_000

/** A page image with an invisible text layer for selection, search and screen readers. */
export function PdfPage({
  pdf,
  number,
  zoom,
  room,
  size,
  onSize,
}: {
  pdf: Pdf
  number: number
  zoom: Zoom
  room: number
  size: Size
  onSize: (number: number, size: Size) => void
}) {
  const sheet = useRef<HTMLDivElement>(null)
  const [page, setPage] = useState<PDFPageProxy | null>(null)
  const [failed, setFailed] = useState(false)
  const scale = scaleFor(size, zoom, room)
  const shown = { width: Math.floor(size.width * scale), height: Math.floor(size.height * scale) }
  useEffect(() => {
    let isWanted = true
    pdf.getPage(number).then(
      (read) => {
        if (!isWanted) return
        onSize(number, sane(read.getViewport({ scale: 1 })))
        setPage(read)
      },
      () => isWanted && setFailed(true),
    )
    return () => void (isWanted = false)
  }, [pdf, number, onSize])
  useEffect(() => {
    if (page === null || sheet.current === null) return
    return draw(page, sheet.current, shown, scale, () => setFailed(true))
  }, [page, scale, shown.width, shown.height])
  return (
    <div
      role="group"
      aria-label={`Page ${number}`}
      className="relative mx-auto bg-white text-black shadow-[0_1px_6px_-1px_rgb(8_14_22/.35)]"
      style={{ ...shown }}
    >
      {failed && <p className="p-6 text-center text-sm">This page can’t be displayed.</p>}
      <div ref={sheet} className="pdf-sheet absolute inset-0" />
    </div>
  )
}

/** Renders to a new canvas and swaps it in when complete. Returns a function that aborts. */
function draw(page: PDFPageProxy, sheet: HTMLElement, shown: Size, scale: number, onFailed: () => void): () => void {
  const viewport = page.getViewport({ scale })
  const density = densityFor(shown, devicePixelRatio)
  const canvas = document.createElement('canvas')
  canvas.setAttribute('aria-hidden', 'true')
  canvas.width = Math.max(1, Math.floor(shown.width * density))
  canvas.height = Math.max(1, Math.floor(shown.height * density))
  const words = document.createElement('div')
  words.className = 'pdf-words'
  words.style.setProperty('--total-scale-factor', String(scale))
  const rendering = page.render({ canvas, viewport, transform: [density, 0, 0, density, 0, 0] })
  let isWanted = true
  let layer: TextLayer | null = null
  const write = async (): Promise<void> => {
    const text = await page.getTextContent()
    if (!isWanted) return
    const content = { ...text, items: text.items.slice(0, MAX_PIECES) }
    layer = new TextLayer({ textContentSource: content, container: words, viewport })
    await layer.render()
  }
  rendering.promise.then(
    async () => {
      if (!isWanted) return
      sheet.replaceChildren(canvas, words)
      await write().catch(() => {})
    },
    () => isWanted && onFailed(),
  )
  return () => {
    isWanted = false
    rendering.cancel()
    layer?.cancel()
    // Frees the canvas memory immediately.
    canvas.width = 0
    page.cleanup()
  }
}
