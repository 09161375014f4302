import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { type ShouldBlockFn, useBlocker } from '@tanstack/react-router'
import { type RefObject, useCallback } from 'react'
import { useUnsavedWords } from '../typing/unsaved.ts'
import type { ConfirmProps } from './dialog-props.ts'
import { useTyped } from './typed.ts'

/** Blocks navigations that would lose something. Returns the question to ask. */
export function useLeaving(isLost: ShouldBlockFn, on: boolean): ConfirmProps {
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: isLost,
    disabled: !on,
    enableBeforeUnload: false,
    withResolver: true,
  })
  return {
    title: 'Leave without saving?',
    verb: 'Leave page',
    back: 'Keep editing',
    run: async () => proceed?.(),
    open: status === 'blocked',
    onOpen: (open) => void (open || reset?.()),
    children: 'Your changes aren’t saved.',
  }
}

/** A running call shows its own state and may open the next page itself. */
export const isLostWith =
  (client: QueryClient, isUnsaved: () => boolean): (() => boolean) =>
  () =>
    client.isMutating() === 0 && isUnsaved()

/** Whether the navigation opens another page; another view of the same page keeps the typed text. */
export const isAnotherPage: ShouldBlockFn = ({ current, next }) => current.pathname !== next.pathname

export function useLeavingWords(box: RefObject<HTMLElement | null>): ConfirmProps {
  const client = useQueryClient()
  const { isUnsaved } = useTyped(box, true)
  useUnsavedWords(isUnsaved)
  const isLost: ShouldBlockFn = useCallback(
    (to) => isAnotherPage(to) && isLostWith(client, isUnsaved)(),
    [client, isUnsaved],
  )
  return useLeaving(isLost, true)
}
