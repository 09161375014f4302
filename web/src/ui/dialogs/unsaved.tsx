import type { RefObject } from 'react'
import { useUnsaved } from '../../unsaved.ts'
import { Confirm } from './dialog.tsx'
import { isAnotherPage, useLeaving, useLeavingWords } from './leaving.ts'

/** Asks before something that is not saved is left: for another page of the app, or with the whole page. */
export function Unsaved({ on }: { on: boolean }) {
  useUnsaved(on)
  return <Confirm {...useLeaving(isAnotherPage, on)} />
}

/** Asks before typed words in this part of a page are lost with the page. */
export const UnsavedWords = ({ box }: { box: RefObject<HTMLElement | null> }) => <Confirm {...useLeavingWords(box)} />
