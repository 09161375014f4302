import { useEffect, useRef, useSyncExternalStore } from 'react'
import type { Shortcut } from './keys.ts'

/** The active shortcuts: the shell's first, then the page's. */
let bound: readonly Shortcut[] = []
const listeners = new Set<() => void>()
const set = (next: readonly Shortcut[]): void => {
  bound = next
  for (const listener of listeners) listener()
}
export const boundNow = (): readonly Shortcut[] => bound

/** Binds shortcuts while the component is mounted, with the handlers of the last render. */
export function useShortcuts(shortcuts: readonly Shortcut[]): void {
  const newest = useRef(shortcuts)
  useEffect(() => {
    newest.current = shortcuts
  })
  const names = shortcuts.map(({ keys }) => keys).join('\n')
  useEffect(() => {
    const mine = newest.current.map((one) => ({
      ...one,
      run: () => newest.current.find(({ keys }) => keys === one.keys)?.run(),
    }))
    set([...bound, ...mine])
    return () => set(bound.filter((one) => !mine.includes(one)))
  }, [names])
}

export const useBound = (): readonly Shortcut[] =>
  useSyncExternalStore((listener) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }, boundNow)

let listOpen = false
const openListeners = new Set<() => void>()
export function showList(open: boolean): void {
  listOpen = open
  for (const listener of openListeners) listener()
}
export const useListOpen = (): boolean =>
  useSyncExternalStore(
    (listener) => {
      openListeners.add(listener)
      return () => openListeners.delete(listener)
    },
    () => listOpen,
  )
