import { useEffect } from 'react'

/** The number of parts of this page with unsaved changes. */
let parts = 0
const checks = new Set<() => boolean>()

export const isAnythingUnsaved = (): boolean => parts > 0 || [...checks].some((isUnsaved) => isUnsaved())

/** While anything is unsaved, the browser confirms leaving the page, and the app doesn't reload itself. */
export function useUnsaved(unsaved: boolean): void {
  useEffect(() => {
    if (!unsaved) return
    const ask = (event: BeforeUnloadEvent): void => event.preventDefault()
    parts++
    addEventListener('beforeunload', ask)
    return () => {
      parts--
      removeEventListener('beforeunload', ask)
    }
  }, [unsaved])
}

export function useUnsavedWords(isUnsaved: () => boolean): void {
  useEffect(() => {
    const ask = (event: BeforeUnloadEvent): void => {
      if (isUnsaved()) event.preventDefault()
    }
    checks.add(isUnsaved)
    addEventListener('beforeunload', ask)
    return () => {
      checks.delete(isUnsaved)
      removeEventListener('beforeunload', ask)
    }
  }, [isUnsaved])
}
