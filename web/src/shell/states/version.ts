import { useSyncExternalStore } from 'react'
import { isAnythingUnsaved } from '../../ui/typing/unsaved.ts'

/** The app's script; its name contains the build hash. */
const mine = document.querySelector('script[type="module"][src]')?.getAttribute('src') ?? null
const BUILDING_MS = 2_000
const MAX_LOOKS = 30
const IDLE_MS = 60_000

/** `newer`: the server has another version. `torn`: part of this version can't be loaded, even after a reload. */
type Version = 'same' | 'newer' | 'torn'
let version: Version = 'same'
const listeners = new Set<() => void>()
const set = (next: Version): void => {
  version = next
  for (const listener of listeners) listener()
}

/** Asks the server for its app version. Right after an update it may still be building. */
export async function lookForVersion(): Promise<void> {
  if (mine === null || version === 'newer') return
  for (let look = 0; look < MAX_LOOKS; look++) {
    const page = await fetch('/app', { cache: 'no-cache' }).catch(() => null)
    if (page?.ok) {
      if ((await page.text()).includes(`"${mine}"`)) return
      set('newer')
      return reloadWhenIdle()
    }
    await new Promise((resolve) => setTimeout(resolve, BUILDING_MS))
  }
}

/** Whether nothing is typed, open or uploading, so a reload loses nothing. */
function isIdle(): boolean {
  if (document.visibilityState === 'visible' || isAnythingUnsaved()) return false
  if (document.querySelector('[role="dialog"], [role="alertdialog"], [role="progressbar"], [aria-busy="true"]'))
    return false
  const typed = document.querySelectorAll<HTMLInputElement | HTMLTextAreaElement>(
    'textarea, input:not([type="hidden"])',
  )
  return [...typed].every(({ value, type }) => type === 'checkbox' || type === 'radio' || value === '')
}

function reloadWhenIdle(): void {
  setInterval(() => {
    if (isIdle()) location.reload()
  }, IDLE_MS)
}

const RELOADED = 'ukiyo.reloaded'

/**
 * After an update, an open page requests files that no longer exist. Reloads the page once per build, so that a file
 * that stays unavailable doesn't cause an endless loop.
 */
export function onLostPart({ payload: { message } }: VitePreloadErrorEvent): void {
  // While offline, the files still exist, and a reload would show the browser's error page.
  if (!navigator.onLine) return
  try {
    // Stops the router from reloading the page for each missing chunk.
    sessionStorage.setItem(`tanstack_router_reload:${message}`, '1')
    if (mine !== null && sessionStorage.getItem(RELOADED) !== mine) {
      sessionStorage.setItem(RELOADED, mine)
      return location.reload()
    }
  } catch {
    // Without session storage, nothing would stop a second reload.
  }
  set('torn')
}

export const useVersion = (): Version =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => version,
  )
