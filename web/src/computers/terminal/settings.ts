/** Terminal settings of this device, kept in browser storage if available. */
import { useSyncExternalStore } from 'react'

export interface TerminalSettings {
  fontSize: number
  screenReader: boolean
}

const NAME = 'uk-terminal'
const first: TerminalSettings = { fontSize: 14, screenReader: false }
export const SIZES = [11, 12, 13, 14, 16, 18, 22] as const

let settings: TerminalSettings = read()
const listeners = new Set<() => void>()

function read(): TerminalSettings {
  try {
    const stored = JSON.parse(localStorage.getItem(NAME) ?? '{}') as Partial<TerminalSettings>
    return {
      fontSize: SIZES.find((one) => one === stored.fontSize) ?? first.fontSize,
      screenReader: stored.screenReader === true,
    }
  } catch {
    return first
  }
}

export function changeSettings(change: Partial<TerminalSettings>): void {
  settings = { ...settings, ...change }
  try {
    localStorage.setItem(NAME, JSON.stringify(settings))
  } catch {
    // Kept while the page is open.
  }
  for (const listener of listeners) listener()
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
export const useTerminalSettings = (): TerminalSettings => useSyncExternalStore(subscribe, () => settings)
