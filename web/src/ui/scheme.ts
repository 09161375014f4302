import { useSyncExternalStore } from 'react'

/** Light or dark, as the page is drawn now. */
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
