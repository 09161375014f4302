import { useSyncExternalStore } from 'react'

export function useMedia(query: string): boolean {
  return useSyncExternalStore(
    (listener) => {
      const list = matchMedia(query)
      list.addEventListener('change', listener)
      return () => list.removeEventListener('change', listener)
    },
    () => matchMedia(query).matches,
  )
}

/** The theme currently shown. */
const darkness = window.matchMedia('(prefers-color-scheme: dark)')
const schemeNow = (): 'light' | 'dark' => {
  const { theme } = document.documentElement.dataset
  return theme === 'dark' || theme === 'light' ? theme : darkness.matches ? 'dark' : 'light'
}
const followScheme = (listener: () => void): (() => void) => {
  const observer = new MutationObserver(listener)
  observer.observe(document.documentElement, { attributeFilter: ['data-theme'] })
  darkness.addEventListener('change', listener)
  return () => {
    observer.disconnect()
    darkness.removeEventListener('change', listener)
  }
}
export const useScheme = (): 'light' | 'dark' => useSyncExternalStore(followScheme, schemeNow)
