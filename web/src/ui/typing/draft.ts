import { type Dispatch, type SetStateAction, useEffect, useState } from 'react'

/** Unsent text by place. Kept in memory: signing out loads a new page and so clears it. */
const drafts = new Map<string, unknown>()

/** State that survives leaving its page. `isEmpty`: whether there is nothing to keep. */
export function useDraft<T>(
  place: string,
  initial: () => T,
  isEmpty: (value: T) => boolean,
): [T, Dispatch<SetStateAction<T>>] {
  const [value, set] = useState<T>(() => (drafts.has(place) ? (drafts.get(place) as T) : initial()))
  const empty = isEmpty(value)
  useEffect(() => {
    if (empty) drafts.delete(place)
    else drafts.set(place, value)
  }, [place, value, empty])
  return [value, set]
}

/** Discards a draft that was sent just before its page is left. */
export const forgetDraft = (place: string): void => void drafts.delete(place)

export const useDraftWords = (place: string): [string, Dispatch<SetStateAction<string>>] =>
  useDraft(
    place,
    () => '',
    (words) => words.trim() === '',
  )
