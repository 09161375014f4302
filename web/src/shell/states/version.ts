import { useSyncExternalStore } from 'react'
import { isAnythingUnsaved } from '../../unsaved.ts'

/** The script that this page runs on; its name says what it was built from. */
const mine = document.querySelector('script[type="module"][src]')?.getAttribute('src') ?? null
const BUILDING_MS = 2_000
const MOST_LOOKS = 30
const IDLE_MS = 60_000

/** `newer`: the server serves another app. `torn`: a part of this one cannot be had, also not after a reload. */
type Version = 'same' | 'newer' | 'torn'
let version: Version = 'same'
const listeners = new Set<() => void>()
const set = (next: Version): void => {
  version = next
  for (const listener of listeners) listener()
}

/** Asks the server which app it serves now. Right after an update it may still be building it. */
export async function lookForVersion(): Promise<void> {
  if (mine === null || version === 'newer') return
  for (let look = 0; look < MOST_LOOKS; look++) {
    const page = await fetch('/app', { cache: 'no-cache' }).catch(() => null)
    if (page?.ok) {
      if ((await page.text()).includes(`"${mine}"`)) return
      set('newer')
      return reloadWhenIdle()
    }
    await new Promise((resolve) => setTimeout(resolve, BUILDING_MS))
  }
}

/** Whether nothing is typed, open or on its way: a reload takes nothing from anybody. */
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
 * A page that was open across an update asks for files that are gone: the new page knows the new ones. It is loaded once
 * for each build, so that a file that cannot be had at all does not reload it for ever.
 */
export function onLostPart({ payload: { message } }: VitePreloadErrorEvent): void {
  // Without a line the files are not gone, and a reload would show the browser’s own page.
  if (!navigator.onLine) return
  try {
    // The router would reload too, for each part of its own that is missing, unless it reads that it has.
    sessionStorage.setItem(`tanstack_router_reload:${message}`, '1')
    if (mine !== null && sessionStorage.getItem(RELOADED) !== mine) {
      sessionStorage.setItem(RELOADED, mine)
      return location.reload()
    }
  } catch {
    // Nothing can be kept here, so nothing would stop a second reload.
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
