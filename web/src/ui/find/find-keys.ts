import { useEffect } from 'react'

/** Open dialogs. Toasts don't count. */
const OPEN = ':is([role=dialog], [role=alertdialog]):not([aria-modal=false]), [role=menu]'

/**
 * `Ctrl F` and `/` open the chat's own search, since the browser searches only the rendered part. Pressing `Ctrl F`
 * again in the field opens the browser's search.
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
