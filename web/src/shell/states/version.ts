import { useSyncExternalStore } from 'react'
import { isAnythingUnsaved } from '../../unsaved.ts'

/** The script that this page runs on; its name says what it was built from. */
const mine = document.querySelector('script[type="module"][src]')?.getAttribute('src') ?? null
const BUILDING_MS = 2_000
const MOST_LOOKS = 30
const IDLE_MS = 60_000

let newer = false
const listeners = new Set<() => void>()

/** Asks the server which app it serves now. Right after an update it may still be building it. */
export async function lookForVersion(): Promise<void> {
  if (mine === null || newer) return
  for (let look = 0; look < MOST_LOOKS; look++) {
    const page = await fetch('/app', { cache: 'no-cache' }).catch(() => null)
    if (page?.ok) {
      if ((await page.text()).includes(`"${mine}"`)) return
      newer = true
      for (const listener of listeners) listener()
      return reloadWhenIdle()
    }
    await new Promise((resolve) => setTimeout(resolve, BUILDING_MS))
  }
}

/** Nothing is typed, open or on its way: a reload takes nothing from anybody. */
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

export const useIsNewer = (): boolean =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => newer,
  )
