import { useEffect } from 'react'

/** The dialogs that stand before the page; a toast in a corner is none. */
const OPEN = ':is([role=dialog], [role=alertdialog]):not([aria-modal=false]), [role=menu]'

/**
 * `Ctrl F` and `/` find in the chat: only a part of it is drawn, and the browser would look through that part alone.
 * Pressed again, in the field, `Ctrl F` is the browser's.
 */
export function useFindKeys(find: () => void): void {
  useEffect(() => {
    const hear = (event: KeyboardEvent): void => {
      const { key, ctrlKey, metaKey, altKey, target } = event
      if (event.defaultPrevented || altKey || !(target instanceof HTMLElement)) return
      if (document.querySelector(OPEN)) return
      const isInFind = target.closest('search') !== null
      const isInField = target.closest('input, textarea, select, [contenteditable]') !== null
      const isAsked = ctrlKey || metaKey ? key.toLowerCase() === 'f' && !isInFind : key === '/' && !isInField
      if (!isAsked) return
      event.preventDefault()
      find()
      document.querySelector<HTMLElement>('search input')?.focus()
    }
    document.addEventListener('keydown', hear)
    return () => document.removeEventListener('keydown', hear)
  }, [find])
}
