import { useEffect, useRef } from 'react'

/**
 * Runs a page written by a model, in a frame with an opaque origin and no network access. The app accepts only one
 * message from it: that it is ready.
 */
export function Frame({ page, title }: { page: string; title: string }) {
  const frame = useRef<HTMLIFrameElement>(null)
  useEffect(() => {
    const hear = ({ source, data }: MessageEvent): void => {
      const inside = frame.current?.contentWindow
      if (inside && source === inside && data === 'ready') inside.postMessage(page, '*')
    }
    addEventListener('message', hear)
    return () => removeEventListener('message', hear)
  }, [page])
  return (
    <iframe
      ref={frame}
      key={page}
      title={title}
      src="/app/frame/artefact"
      sandbox="allow-scripts"
      referrerPolicy="no-referrer"
      allow=""
      className="block h-full w-full border-0 bg-[#fff]"
    />
  )
}
