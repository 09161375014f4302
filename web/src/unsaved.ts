import { useEffect } from 'react'

/** How many parts of this page hold something that would be lost with it. */
let parts = 0

export const isAnythingUnsaved = (): boolean => parts > 0

/** While something is not saved the browser asks before the page goes, and the app does not load itself anew. */
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
