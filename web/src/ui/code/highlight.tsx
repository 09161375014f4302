import { Fragment, type ReactNode, useEffect, useState } from 'react'
import { visible } from '../text/visible.ts'
import type { Line } from './grammar.ts'
import { grammarFor } from './languages.ts'

/** Longer code isn't highlighted. */
const LONGEST = 200_000
const KEPT = 100
/** A cache of highlighted code, so that rows that scroll back into view have their colors at once. */
const highlighted = new Map<string, readonly Line[]>()

function keep(key: string, lines: readonly Line[]): void {
  highlighted.set(key, lines)
  if (highlighted.size > KEPT) highlighted.delete(highlighted.keys().next().value!)
}

/**
 * Code with syntax highlighting and with invisible characters made visible. Shows plain text until the grammar is
 * loaded and for unknown languages.
 */
export function Highlighted({ text, language }: { text: string; language: string }): ReactNode {
  const shown = visible(text)
  const key = `${language}\n${shown}`
  const [read, setRead] = useState<{ key: string; lines: readonly Line[] } | null>(null)
  const lines = highlighted.get(key) ?? (read?.key === key ? read.lines : undefined)
  const isWanted = lines === undefined && shown.length <= LONGEST && grammarFor(language) !== null
  useEffect(() => {
    if (!isWanted) return
    const unmount = new AbortController()
    void import('./grammar.ts')
      .then(({ tokensOf }) => tokensOf(shown, language, unmount.signal))
      .then(
        (found) => {
          if (found === null || unmount.signal.aborted) return
          keep(key, found)
          setRead({ key, lines: found })
        },
        // The plain text stays readable.
        () => {},
      )
    return () => unmount.abort()
  }, [isWanted, key, language, shown])
  if (lines === undefined) return shown
  return lines.map((line, at) => (
    <Fragment key={at}>
      {line.map(([piece, kind], place) =>
        kind === null ? (
          piece
        ) : (
          <span key={place} className={`code-${kind}`}>
            {piece}
          </span>
        ),
      )}
      {at < lines.length - 1 && '\n'}
    </Fragment>
  ))
}
