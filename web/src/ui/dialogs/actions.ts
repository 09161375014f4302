import type { ReactNode } from 'react'
import { buttonClass } from '../button.tsx'

export interface Action {
  label: string
  run: () => void
  danger?: boolean
  disabled?: boolean
}

export interface ActionsProps {
  /** Names the row too. */
  label: string
  actions: readonly Action[]
  trigger?: ReactNode
  /** -1 where a list is walked by arrows, and offers the same beside itself. */
  tabIndex?: number
}

export const triggerClass = (trigger: ReactNode): string => buttonClass('quiet', !trigger)
