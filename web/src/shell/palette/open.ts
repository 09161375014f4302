import { useSyncExternalStore } from 'react'

/** The palette's state: closed, open, or showing the form of one of its actions. */
export type Showing = 'nothing' | 'palette' | 'new-key'

let showing: Showing = 'nothing'
const listeners = new Set<() => void>()

export function show(next: Showing): void {
  showing = next
  for (const listener of listeners) listener()
}
export const openPalette = (): void => show('palette')

export const useShowing = (): Showing =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => showing,
  )
