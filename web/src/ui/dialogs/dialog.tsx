import { Suspense, lazy, useState } from 'react'
import type { ConfirmProps, DialogProps } from './dialog-props.ts'

// What no page needs to be drawn is read with the first dialog that opens, and stays: a dialog that closes fades.
const load = () => import('./dialog-frame.tsx')
const DialogFrame = lazy(async () => ({ default: (await load()).DialogFrame }))
const ConfirmFrame = lazy(async () => ({ default: (await load()).ConfirmFrame }))

function useOpened(open: boolean): boolean {
  const [opened, set] = useState(open)
  if (open && !opened) set(true)
  return opened || open
}

export function Dialog(props: DialogProps) {
  return useOpened(props.open) ? (
    <Suspense fallback={null}>
      <DialogFrame {...props} />
    </Suspense>
  ) : null
}

/** Before what can't be taken back. The focus starts on the way out. */
export function Confirm(props: ConfirmProps) {
  return useOpened(props.open) ? (
    <Suspense fallback={null}>
      <ConfirmFrame {...props} />
    </Suspense>
  ) : null
}

/**
 * The open dialog of a list, and the thing that it is about: kept while it closes, so that its words don't vanish under
 * the reader.
 */
export function useOpen<T>(): { open: boolean; on: T | null; show: (on: T) => void; onOpen: (open: boolean) => void } {
  const [state, set] = useState<{ open: boolean; on: T | null }>({ open: false, on: null })
  return {
    ...state,
    show: (on) => set({ open: true, on }),
    onOpen: (open) => set((before) => ({ ...before, open })),
  }
}
