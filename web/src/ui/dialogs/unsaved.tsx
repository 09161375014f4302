import type { RefObject } from 'react'
import { useUnsaved } from '../typing/unsaved.ts'
import { Confirm } from './dialog.tsx'
import { isAnotherPage, useLeaving, useLeavingWords } from './leaving.ts'

/** Asks before unsaved changes are lost by leaving the page. */
export function Unsaved({ on }: { on: boolean }) {
  useUnsaved(on)
  return <Confirm {...useLeaving(isAnotherPage, on)} />
}

/** Asks before typed text in this part of a page is lost. */
export const UnsavedWords = ({ box }: { box: RefObject<HTMLElement | null> }) => <Confirm {...useLeavingWords(box)} />
