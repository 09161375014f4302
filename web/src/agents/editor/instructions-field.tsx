import { type ComponentType, type ComponentProps, useEffect, useState } from 'react'
import { AreaField } from '../../ui/area-field.tsx'
import { useMedia } from '../../ui/media.ts'
import type MarkdownView from '../../ui/code/editor/markdown-view.tsx'

const LABEL = 'Instructions'
const ROWS = 8
const HINT = 'Who it is, what it does, how it answers.'

/**
 * What an agent is told, as Markdown in its colours where somebody writes with a keyboard. It is the plain field until what
 * colours it is read, where fingers write (whose keyboards know that field best), for who only reads, and where the server
 * objects; it never changes under the hands of who is writing.
 */
export function InstructionsField({
  value,
  onValue,
  locked,
  error,
}: {
  value: string
  onValue: (value: string) => void
  locked: boolean
  error: string | null
}) {
  const hasKeyboard = useMedia('(pointer: fine)')
  const [Coloured, setColoured] = useState<ComponentType<ComponentProps<typeof MarkdownView>> | null>(null)
  const [focused, setFocused] = useState(false)
  const [changed, setChanged] = useState(false)
  const mayChange = hasKeyboard && !locked && error === null
  useEffect(() => {
    if (!mayChange || Coloured !== null) return
    // Without a line the plain field stays.
    void import('../../ui/code/editor/markdown-view.tsx').then(
      (module) => setColoured(() => module.default),
      () => {},
    )
  }, [mayChange, Coloured])
  useEffect(() => {
    if (!mayChange) setChanged(false)
    else if (Coloured !== null && !focused) setChanged(true)
  }, [mayChange, Coloured, focused])
  return (
    <div onFocus={() => setFocused(true)} onBlur={() => setFocused(false)}>
      {changed && mayChange && Coloured !== null ? (
        <>
          <p className="mb-1 text-sm font-medium" aria-hidden="true">
            {LABEL}
          </p>
          <Coloured label={LABEL} value={value} onValue={onValue} rows={ROWS} hint={HINT} />
        </>
      ) : (
        <AreaField
          label={LABEL}
          rows={ROWS}
          value={value}
          onValue={onValue}
          readOnly={locked}
          placeholder={HINT}
          error={error}
        />
      )}
    </div>
  )
}
