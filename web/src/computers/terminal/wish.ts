/** Terminal settings of this device, kept in browser storage if available. */
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
    const stored = JSON.parse(localStorage.getItem(KEPT) ?? '{}') as Partial<Wish>
    return {
      fontSize: SIZES.find((one) => one === stored.fontSize) ?? first.fontSize,
      screenReader: stored.screenReader === true,
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
    // Kept while the page is open.
  }
  for (const listener of listeners) listener()
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
export const useWish = (): Wish => useSyncExternalStore(subscribe, () => wish)
