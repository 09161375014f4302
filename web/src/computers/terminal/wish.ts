/** How somebody wants terminals to look on this device; a browser that keeps nothing forgets it. */
import { useSyncExternalStore } from 'react'

export interface Wish {
  fontSize: number
  screenReader: boolean
}

const KEPT = 'uk-terminal'
const first: Wish = { fontSize: 14, screenReader: false }
export const SIZES = [11, 12, 13, 14, 16, 18, 22] as const

let wish: Wish = read()
const listeners = new Set<() => void>()

function read(): Wish {
  try {
    const kept = JSON.parse(localStorage.getItem(KEPT) ?? '{}') as Partial<Wish>
    return {
      fontSize: SIZES.find((one) => one === kept.fontSize) ?? first.fontSize,
      screenReader: kept.screenReader === true,
    }
  } catch {
    return first
  }
}

export function wishFor(change: Partial<Wish>): void {
  wish = { ...wish, ...change }
  try {
    localStorage.setItem(KEPT, JSON.stringify(wish))
  } catch {
    // Held for as long as the page is open.
  }
  for (const listener of listeners) listener()
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
export const useWish = (): Wish => useSyncExternalStore(subscribe, () => wish)

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
