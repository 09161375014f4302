import { useMutation } from '@tanstack/react-query'
import { type RefObject, useEffect, useRef } from 'react'
import { refusal, sayError } from '../api.ts'

export interface Send<I, O> {
  send: (input: I) => Promise<O | undefined>
  pending: boolean
  failed: boolean
  /** The server's objection to this field: `at('name')`, also to what is in it (`models.0.id`). */
  at: (field: string) => string | null
  /** The server's objection when it belongs to no field in `fields`. */
  rest: (...fields: string[]) => string | null
  code: string | undefined
  reset: () => void
  /** The form: a refused field gets the focus. */
  form: RefObject<HTMLFormElement | null>
}

/** A call that changes something, and its answer. Typed text stays where it is. */
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
      // Enter, pressed twice, is one wish.
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

/** The server's objection to a field or to something in it; null when it spoke of something else. */
export function sayAt(error: unknown, field: string): string | null {
  const param = refusal(error)?.param
  const meant = param === field || param?.startsWith(`${field}.`) || param?.startsWith(`${field}[`)
  return meant ? plain(sayError(error), field) : null
}

/** The server names the field, as a program needs it; at the field itself that is said already. */
function plain(message: string, field: string): string {
  const left = message
    .replace(new RegExp(`^\`?${field}[\\w.[\\]]*\`?:?\\s+`), '')
    // A person who types has no other choice than a string.
    .replace(/^(must be a (whole )?number), not a string/, '$1')
    // IDs are chosen from lists, so the only wrong one is none.
    .replace(/^must be a 26-character ULID/, 'choose one')
  return left.charAt(0).toUpperCase() + left.slice(1)
}
