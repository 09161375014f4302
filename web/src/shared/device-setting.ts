import { useSyncExternalStore } from 'react'

/** A setting stored on this device. All windows of this browser follow a change. */
export interface DeviceSetting {
  get(): string | null
  set(value: string | null): void
}

const listeners = new Set<() => void>()
const tell = (): void => {
  for (const listener of listeners) listener()
}
/** Without browser storage, the value lasts as long as the page. */
const inMemory = new Map<string, string>()

export const deviceSetting = (name: string): DeviceSetting => ({
  get() {
    try {
      return inMemory.get(name) ?? localStorage.getItem(name)
    } catch {
      return inMemory.get(name) ?? null
    }
  },
  set(value) {
    inMemory.delete(name)
    try {
      if (value === null) localStorage.removeItem(name)
      else localStorage.setItem(name, value)
    } catch {
      if (value !== null) inMemory.set(name, value)
    }
    tell()
  },
})

const subscribe = (listener: () => void): (() => void) => {
  if (listeners.size === 0) window.addEventListener('storage', tell)
  listeners.add(listener)
  return () => {
    listeners.delete(listener)
    if (listeners.size === 0) window.removeEventListener('storage', tell)
  }
}

export const useDeviceSetting = (choice: DeviceSetting): string | null => useSyncExternalStore(subscribe, choice.get)
