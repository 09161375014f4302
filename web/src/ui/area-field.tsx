import type { ReactNode } from 'react'
import { Field } from './field.tsx'

/** A field for text of any length: it grows with what is written, up to most of the window. */
export function AreaField({
  label,
  hint,
  error,
  optional,
  value,
  onValue,
  mono = false,
  rows = 3,
  readOnly = false,
  placeholder,
}: {
  label: ReactNode
  hint?: ReactNode
  error?: string | null | undefined
  optional?: boolean
  value: string
  onValue: (value: string) => void
  mono?: boolean
  /** Lines that are there before anything is written. */
  rows?: number
  readOnly?: boolean
  placeholder?: string
}) {
  return (
    <Field {...{ label, hint, error }} {...(optional && { optional })}>
      {(control) => (
        <textarea
          {...control}
          // Its size follows what is written, and no more its rows.
          style={{ minHeight: `${rows * 1.625 + 0.85}em` }}
          readOnly={readOnly}
          placeholder={placeholder}
          spellCheck={!mono}
          value={value}
          onChange={({ target }) => onValue(target.value)}
          className={`field field-sizing-content block max-h-[70dvh] resize-y leading-relaxed ${mono ? 'font-mono text-sm' : ''}`}
        />
      )}
    </Field>
  )
}
