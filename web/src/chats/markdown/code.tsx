import { useState } from 'react'
import { Copy } from '../../ui/copy.tsx'
import { visible } from './plain.ts'

/** Lines that are shown at once. */
const FOLDED_LINES = 400

export function CodeBlock({ text, language }: { text: string; language: string }) {
  const [whole, setWhole] = useState(false)
  const lines = text.split('\n')
  const folded = !whole && lines.length > FOLDED_LINES
  return (
    <figure className="code">
      <figcaption>
        <span className="truncate">{language || 'text'}</span>
        <Copy text={text} look="quiet" />
      </figcaption>
      <pre tabIndex={0}>
        <code>{visible(folded ? lines.slice(0, FOLDED_LINES).join('\n') : text)}</code>
      </pre>
      {folded && (
        <button type="button" className="link w-full px-3 py-2 text-left text-sm" onClick={() => setWhole(true)}>
          Show all {lines.length} lines
        </button>
      )}
    </figure>
  )
}
