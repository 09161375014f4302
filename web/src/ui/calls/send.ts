import { useMutation } from '@tanstack/react-query'
import { type RefObject, useEffect, useRef } from 'react'
import { refusal, sayError } from './errors.ts'

export interface Send<I, O> {
  send: (input: I) => Promise<O | undefined>
  pending: boolean
  failed: boolean
  /** The server's error for this field: `at('name')`. Includes errors inside it (`models.0.id`). */
  at: (field: string) => string | null
  /** The server's error when it isn't about one of `fields`. */
  rest: (...fields: string[]) => string | null
  code: string | undefined
  reset: () => void
  form: RefObject<HTMLFormElement | null>
}

export function useSend<I, O>(call: (input: I) => Promise<O>, done?: (output: O, input: I) => unknown): Send<I, O> {
  const form = useRef<HTMLFormElement>(null)
  const busy = useRef(false)
  const { mutateAsync, isPending, error, reset } = useMutation({
    mutationFn: call,
    onSuccess: (output, input) => done?.(output, input),
  })
  useEffect(() => {
    if (error) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
  }, [error])
  const at = (field: string): string | null => sayAt(error, field)
  return {
    async send(input) {
      // Ignores a double press of Enter.
      if (busy.current) return undefined
      busy.current = true
      try {
        return await mutateAsync(input)
      } catch {
        return undefined
      } finally {
        busy.current = false
      }
    },
    pending: isPending,
    failed: error !== null,
    at,
    rest: (...fields) => (error && !fields.some((field) => at(field) !== null) ? sayError(error) : null),
    code: refusal(error)?.code,
    reset,
    form,
  }
}

/** The server's error for a field or something inside it; null for other errors. */
export function sayAt(error: unknown, field: string): string | null {
  const param = refusal(error)?.param
  const isAbout = param === field || param?.startsWith(`${field}.`) || param?.startsWith(`${field}[`)
  return isAbout ? plain(sayError(error), field) : null
}

/** Strips the field name from a message that is shown at the field. */
function plain(message: string, field: string): string {
  const text = message
    .replace(new RegExp(`^\`?${field}[\\w.[\\]]*\`?:?\\s+`), '')
    // Text fields always send strings.
    .replace(/^(must be a (whole )?number), not a string/, '$1')
    // IDs come from selects, so the only invalid value is an empty choice.
    .replace(/^must be a 26-character ULID/, 'choose an option')
  return text.charAt(0).toUpperCase() + text.slice(1)
}
