import type { ReactNode } from 'react'

export interface DialogProps {
  open: boolean
  onOpen: (open: boolean) => void
  title: string
  about?: ReactNode
  wide?: boolean
  /** Only its own buttons close it: what it shows is shown this once. */
  insistent?: boolean
  children: ReactNode
  footer?: ReactNode
}

export interface ConfirmProps {
  title: string
  children: ReactNode
  /** The word on the button that does it. */
  verb: string
  run: () => Promise<unknown>
  open: boolean
  onOpen: (open: boolean) => void
}
