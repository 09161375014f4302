import { useSyncExternalStore } from 'react'
import { sayError, uk } from '../api.ts'
import { say } from '../ui/dialogs/toast.tsx'

export type Theme = 'system' | 'light' | 'dark'
const NAME = 'ukiyo.theme'
const listeners = new Set<() => void>()

const present = (): Theme => (document.documentElement.dataset.theme as Theme | undefined) ?? 'system'

/**
 * Sets the theme on this device at once (public/theme.js reads it before the first paint), and in the account's
 * settings.
 */
export function setTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
  try {
    if (theme === 'system') localStorage.removeItem(NAME)
    else localStorage.setItem(NAME, theme)
  } catch {
    // A browser that keeps nothing shows it for as long as the page is open.
  }
  for (const listener of listeners) listener()
}

export function saveTheme(theme: Theme): void {
  setTheme(theme)
  uk.settings
    .update({ theme })
    .catch((error: unknown) => say(`Only this browser has the new theme. ${sayError(error)}`))
}

/** Takes the theme of the account's settings, on a device that has not chosen one. */
export async function adoptTheme(): Promise<void> {
  if (present() !== 'system') return
  const settings = await uk.settings.get().catch(() => null)
  // Meanwhile one may have been picked here.
  if (settings && present() === 'system') setTheme(settings.theme)
}

export const useTheme = (): Theme =>
  useSyncExternalStore((listener) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }, present)
