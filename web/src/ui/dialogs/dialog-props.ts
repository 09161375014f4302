import type { ReactNode } from 'react'

export interface OpenState {
  open: boolean
  onOpen: (open: boolean) => void
}

export interface DialogProps extends OpenState {
  title: string
  about?: ReactNode
  wide?: boolean
  /** Only the dialog's own buttons close it: it shows something only this once. */
  insistent?: boolean
  /** Typed text is still there when the dialog reopens, so it closes without asking. */
  keeps?: boolean
  children: ReactNode
  footer?: ReactNode
}

export interface ConfirmProps extends OpenState {
  title: string
  children: ReactNode
  verb: string
  back?: string
  run: () => Promise<unknown>
}
