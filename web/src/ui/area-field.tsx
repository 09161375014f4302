import type { ReactNode } from 'react'
import { Field } from './field.tsx'

/** A text field that grows with its content, up to most of the window. */
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
  rows?: number
  readOnly?: boolean
  placeholder?: string
}) {
  return (
    <Field {...{ label, hint, error }} {...(optional && { optional })}>
      {(control) => (
        <textarea
          {...control}
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
