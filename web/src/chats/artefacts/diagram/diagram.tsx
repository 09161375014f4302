import { useEffect, useRef, useState } from 'react'
import { useScheme } from '../../../ui/media.ts'
import { IconButton, buttonClass } from '../../../ui/button.tsx'
import { CodeBlock } from '../../../ui/code/code-block.tsx'
import type { ToFrame, Zoom } from './messages.ts'

/** The time limit for a diagram, including loading Mermaid. */
const LONGEST_MS = 20_000

export function Diagram({ source, title }: { source: string; title: string }) {
  const frame = useRef<HTMLIFrameElement>(null)
  const [state, setState] = useState<'coming' | 'drawn' | 'late'>('coming')
  const [ready, setReady] = useState(0)
  const scheme = useScheme()
  const tell = (message: ToFrame): void => frame.current?.contentWindow?.postMessage(message, '*')
  useEffect(() => {
    const late = setTimeout(() => setState((now) => (now === 'coming' ? 'late' : now)), LONGEST_MS)
    const hear = ({ source: from, data }: MessageEvent): void => {
      if (from === null || from !== frame.current?.contentWindow) return
      if (data === 'ready') setReady((times) => times + 1)
      if (data === 'drawn') setState('drawn')
    }
    addEventListener('message', hear)
    return () => {
      clearTimeout(late)
      removeEventListener('message', hear)
    }
  }, [])
  useEffect(() => {
    if (ready > 0) tell({ type: 'draw', source, scheme })
  }, [ready, source, scheme])
  const zoom = (to: Zoom) => () => tell({ type: 'zoom', to })
  if (state === 'late')
    return (
      <div className="p-4">
        <p role="alert" className="mb-3 text-sm">
          This diagram took longer than {LONGEST_MS / 1_000} seconds to draw. Its source:
        </p>
        <CodeBlock text={source} language="mermaid" />
      </div>
    )
  return (
    <div className="flex h-full flex-col">
      <div role="toolbar" aria-label="Zoom" className="flex items-center gap-1 border-b border-line px-3 py-1">
        <IconButton label="Zoom out (-)" icon="minus" onClick={zoom('out')} />
        <IconButton label="Zoom in (+)" icon="plus" onClick={zoom('in')} />
        <button type="button" title="Fit to window (0)" className={buttonClass('quiet')} onClick={zoom('fit')}>
          Fit
        </button>
        <button type="button" title="Actual size (1)" className={buttonClass('quiet')} onClick={zoom('full')}>
          100 %
        </button>
      </div>
      <iframe
        ref={frame}
        title={title}
        src="/app/frame/diagram"
        sandbox="allow-scripts"
        referrerPolicy="no-referrer"
        allow=""
        className="block min-h-0 w-full flex-1 border-0"
      />
    </div>
  )
}
