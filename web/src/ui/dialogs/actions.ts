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
}

export const triggerClass = (trigger: ReactNode): string => buttonClass('quiet', !trigger)
