import { type ShouldBlockFn, useBlocker } from '@tanstack/react-router'
import { useUnsaved } from '../../unsaved.ts'
import { Confirm } from './dialog.tsx'

/** Whether another page is opened: another view of the same one keeps what was typed. */
const isAnotherPage: ShouldBlockFn = ({ current, next }) => current.pathname !== next.pathname

/** Asks before something that is not saved is left: for another page of the app, or with the whole page. */
export function Unsaved({ on }: { on: boolean }) {
  useUnsaved(on)
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: isAnotherPage,
    disabled: !on,
    enableBeforeUnload: false,
    withResolver: true,
  })
  return (
    <Confirm
      title="Leave without saving?"
      verb="Leave"
      run={async () => proceed?.()}
      open={status === 'blocked'}
      onOpen={(open) => void (open || reset?.())}
    >
      What you changed here is not saved, and will be gone.
    </Confirm>
  )
}
