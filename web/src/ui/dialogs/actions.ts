import type { ReactNode } from 'react'
import { buttonClass } from '../button.tsx'

export interface Action {
  label: string
  run: () => void
  danger?: boolean
  disabled?: boolean
}

export interface ActionsProps {
  /** The menu's accessible name, which includes the row's name. */
  label: string
  actions: readonly Action[]
  trigger?: ReactNode
  /** -1 in lists with arrow-key navigation that offer the same actions elsewhere. */
  tabIndex?: number
}

export const triggerClass = (trigger: ReactNode): string => buttonClass('quiet', !trigger)
