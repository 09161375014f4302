import type { ReactNode } from 'react'

/** Of every dialog: whoever shows it knows whether it is open. */
export interface Opened {
  open: boolean
  onOpen: (open: boolean) => void
}

export interface DialogProps extends Opened {
  title: string
  about?: ReactNode
  wide?: boolean
  /** Only its own buttons close it: what it shows is shown this once. */
  insistent?: boolean
  children: ReactNode
  footer?: ReactNode
}

export interface ConfirmProps extends Opened {
  title: string
  children: ReactNode
  /** The word on the button that does it. */
  verb: string
  run: () => Promise<unknown>
}
