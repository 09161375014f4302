import { type ReactNode, createContext, useContext, useState } from 'react'
import { buttonClass } from '../button.tsx'
import { Copy } from '../copy.tsx'
import './code.css'
import { Highlighted } from './highlight.tsx'

const FOLDED_LINES = 400

export interface Code {
  text: string
  language: string
}

/** Opens the code in the side pane; null if there is none. */
export const OpenBeside = createContext<{ verbFor: (code: Code) => string | null; open: (code: Code) => void } | null>(
  null,
)

/** Code with syntax highlighting and a copy button; long code is collapsed. */
export function CodeBlock({
  text,
  language,
  growing = false,
  caption,
}: Code & {
  /** The code is still streaming; highlighting starts when it is complete. */
  growing?: boolean
  caption?: ReactNode
}) {
  const [whole, setWhole] = useState(false)
  const beside = useContext(OpenBeside)
  const lines = text.split('\n')
  const folded = !whole && lines.length > FOLDED_LINES
  const verb = growing ? null : (beside?.verbFor({ text, language }) ?? null)
  return (
    <figure className="code">
      <figcaption>
        <span className="min-w-0 flex-1 truncate">{caption ?? (language || 'text')}</span>
        {verb !== null && (
          <button type="button" className={buttonClass('quiet')} onClick={() => beside!.open({ text, language })}>
            {verb}
          </button>
        )}
        <Copy text={text} look="quiet" />
      </figcaption>
      <pre tabIndex={0} aria-label={`Code${language && `, ${language}`}`}>
        <code>
          <Highlighted
            text={folded ? lines.slice(0, FOLDED_LINES).join('\n') : text}
            language={growing ? '' : language}
          />
        </code>
      </pre>
      {folded && (
        <button type="button" className="link w-full px-3 py-2 text-left text-sm" onClick={() => setWhole(true)}>
          Show all {lines.length} lines
        </button>
      )}
    </figure>
  )
}
