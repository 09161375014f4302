import type { ReactNode } from 'react'

/** The properties of every dialog: whoever shows it knows whether it is open. */
export interface Opened {
  open: boolean
  onOpen: (open: boolean) => void
}

export interface DialogProps extends Opened {
  title: string
  about?: ReactNode
  wide?: boolean
  /** Only the dialog's own buttons close it: it shows something only this once. */
  insistent?: boolean
  /** Typed words are still there when it is opened again, so it closes without a question. */
  keeps?: boolean
  children: ReactNode
  footer?: ReactNode
}

export interface ConfirmProps extends Opened {
  title: string
  children: ReactNode
  /** The word on the button that does it. */
  verb: string
  /** The label of the other button. */
  back?: string
  run: () => Promise<unknown>
}
