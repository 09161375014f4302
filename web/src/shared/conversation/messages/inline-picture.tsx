import { useEffect, useRef, useState } from 'react'

const WIDEST = 1_280

/** An image inside its message. Drawn on a canvas, since the content security policy blocks data URLs. */
export function InlinePicture({ type, data }: { type: string; data: string }) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const [failed, setFailed] = useState(false)
  useEffect(() => {
    let over = false
    void draw(type, data, () => (over ? null : canvas.current)).catch(() => setFailed(true))
    return () => {
      over = true
    }
  }, [type, data])
  if (failed) return <span className="border border-line bg-sheet px-2.5 py-1 text-sm">Image ({type})</span>
  return <canvas ref={canvas} role="img" aria-label="Image" className="max-h-80 max-w-full border border-line" />
}

async function draw(type: string, data: string, place: () => HTMLCanvasElement | null): Promise<void> {
  const bytes = Uint8Array.from(atob(data), (one) => one.charCodeAt(0))
  const picture = await createImageBitmap(new Blob([bytes], { type }))
  const canvas = place()
  if (canvas) {
    const scale = Math.min(1, WIDEST / picture.width)
    canvas.width = Math.max(1, Math.round(picture.width * scale))
    canvas.height = Math.max(1, Math.round(picture.height * scale))
    canvas.getContext('2d')?.drawImage(picture, 0, 0, canvas.width, canvas.height)
  }
  picture.close()
}
