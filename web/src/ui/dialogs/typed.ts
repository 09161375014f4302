import { useQueryClient } from '@tanstack/react-query'
import { type RefObject, useCallback, useEffect, useRef } from 'react'

/** Fields whose text would be missed. Filters (`type=search`) don't count. */
const KINDS = ['text', 'email', 'url', 'password', 'number', 'tel']
const FIELDS = [
  'input:not([type])',
  ...KINDS.map((kind) => `input[type=${kind}]`),
  'textarea',
  '[contenteditable=true]',
]

const wordsIn = (field: Element): string =>
  field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement ? field.value : (field.textContent ?? '')

interface Typed {
  /** Whether the fields have typed words that haven't been sent. */
  isUnsaved: () => boolean
  /** Treats all words typed so far as saved or discarded. */
  forget: () => void
}

/**
 * Watches what is typed into a part of the page while it is `open`. A successful mutation counts as saving it; where there is a
 * form, only one after the form was submitted.
 */
export function useTyped(box: RefObject<HTMLElement | null>, open: boolean): Typed {
  const client = useQueryClient()
  /** The text of each field before the first key. */
  const before = useRef(new Map<Element, string>())
  const typed = useRef(new Set<Element>())
  const forget = useCallback((): void => {
    before.current.clear()
    typed.current.clear()
  }, [])
  useEffect(() => {
    forget()
    if (!open) return
    const fieldOf = ({ target }: Event): Element | null =>
      target instanceof Element && box.current?.contains(target) === true ? target.closest(FIELDS.join()) : null
    const enter = (event: Event): void => {
      const field = fieldOf(event)
      if (field && !before.current.has(field)) before.current.set(field, wordsIn(field))
    }
    const type = (event: Event): void => {
      const field = fieldOf(event)
      if (field) typed.current.add(field)
    }
    let submitted = false
    const submit = ({ target }: Event): void => {
      if (target instanceof Node && box.current?.contains(target)) submitted = true
    }
    const events = [
      ['focusin', enter],
      ['beforeinput', enter],
      ['input', type],
      ['submit', submit],
    ] as const
    for (const [name, hear] of events) addEventListener(name, hear, true)
    const leave = client.getMutationCache().subscribe((event) => {
      if (event.type !== 'updated' || event.action.type !== 'success') return
      const hasForm = box.current?.matches('form') === true || box.current?.querySelector('form') != null
      if (hasForm && !submitted) return
      submitted = false
      forget()
    })
    return () => {
      for (const [name, hear] of events) removeEventListener(name, hear, true)
      leave()
    }
  }, [open, box, forget, client])
  const isUnsaved = useCallback(
    (): boolean =>
      [...typed.current].some((field) => {
        const words = wordsIn(field)
        return field.isConnected && words.trim() !== '' && words !== before.current.get(field)
      }),
    [],
  )
  return { isUnsaved, forget }
}
