import { useSyncExternalStore } from 'react'
import { uk } from '../shared/api.ts'
import { sayError } from '../ui/calls/errors.ts'
import { say } from '../ui/toast/toast.tsx'

export type Theme = 'system' | 'light' | 'dark'
const NAME = 'ukiyo.theme'
const listeners = new Set<() => void>()

const present = (): Theme => (document.documentElement.dataset.theme as Theme | undefined) ?? 'system'

/**
 * Applies the theme on this device at once (public/theme.js reads it before the first paint) and saves it to the
 * account's settings.
 */
export function setTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
  try {
    if (theme === 'system') localStorage.removeItem(NAME)
    else localStorage.setItem(NAME, theme)
  } catch {
    // Without browser storage, the theme lasts as long as the page.
  }
  for (const listener of listeners) listener()
}

export function saveTheme(theme: Theme): void {
  setTheme(theme)
  uk.settings
    .update({ theme })
    .catch((error: unknown) => say(`The theme was changed only in this browser. ${sayError(error)}`))
}

/** Applies the account's theme if this device has none. */
export async function adoptTheme(): Promise<void> {
  if (present() !== 'system') return
  const settings = await uk.settings.get().catch(() => null)
  // A theme may have been picked while the settings loaded.
  if (settings && present() === 'system') setTheme(settings.theme)
}

export const useTheme = (): Theme =>
  useSyncExternalStore((listener) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }, present)
