import { useEffect, useRef } from 'react'

/**
 * Runs a page that a model wrote. Its origin is one that nobody shares, it reaches no network, and of its messages only
 * the one is heard that it is ready for its bytes (src/interfaces/app/frames.ts has the policy).
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
