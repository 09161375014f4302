import { Suspense, lazy, useState } from 'react'
import type { ConfirmProps, DialogProps } from './dialog-props.ts'

// Lazy: loaded with the first dialog. It stays mounted because closing dialogs fade out.
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

/** A confirmation for destructive actions. The cancel button has the initial focus. */
export function Confirm(props: ConfirmProps) {
  return useOpened(props.open) ? (
    <Suspense fallback={null}>
      <ConfirmFrame {...props} />
    </Suspense>
  ) : null
}

/**
 * The open dialog of a list and its item, kept while the dialog closes so that its text doesn't disappear during the
 * fade.
 */
export function useOpen<T>(): { open: boolean; on: T | null; show: (on: T) => void; onOpen: (open: boolean) => void } {
  const [state, set] = useState<{ open: boolean; on: T | null }>({ open: false, on: null })
  return {
    ...state,
    show: (on) => set({ open: true, on }),
    onOpen: (open) => set((before) => ({ ...before, open })),
  }
}
