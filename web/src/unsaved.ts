import { useEffect } from 'react'

/** How many parts of this page hold something that would be lost with it. */
let parts = 0
/** Parts that know only when they are asked. */
const asked = new Set<() => boolean>()

export const isAnythingUnsaved = (): boolean => parts > 0 || [...asked].some((isUnsaved) => isUnsaved())

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

/** The same for a part that tells when it is asked. */
export function useUnsavedWords(isUnsaved: () => boolean): void {
  useEffect(() => {
    const ask = (event: BeforeUnloadEvent): void => {
      if (isUnsaved()) event.preventDefault()
    }
    asked.add(isUnsaved)
    addEventListener('beforeunload', ask)
    return () => {
      asked.delete(isUnsaved)
      removeEventListener('beforeunload', ask)
    }
  }, [isUnsaved])
}
