import { type ComponentType, type ComponentProps, useEffect, useState } from 'react'
import { AreaField } from '../../ui/area-field.tsx'
import { useMedia } from '../../ui/media.ts'
import type MarkdownView from '../../ui/code/editor/markdown-view.tsx'

const LABEL = 'Instructions'
const ROWS = 8
const HINT = 'The agent’s role, tasks and style.'

/**
 * The instructions, with Markdown highlighting when a keyboard is used. Falls back to a plain field until the
 * highlighter is loaded, on touch devices, for viewers, and when the server rejects the field. It never switches while
 * someone is typing.
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
    // Offline, the plain field stays.
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
