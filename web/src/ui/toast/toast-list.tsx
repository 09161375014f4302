import { Toast } from '@base-ui/react/toast'
import { useEffect } from 'react'
import { buttonClass } from '../button.tsx'
import { Icon } from '../icons.tsx'

const manager = Toast.createToastManager()

/** Queues messages that arrive before the list subscribes: the toast manager doesn't. */
const waiting: (() => void)[] = []
let hears = false
const whenItHears = (tell: () => void): void => {
  if (hears) tell()
  else waiting.push(tell)
}

export const add = (title: string): void => whenItHears(() => void manager.add({ title, timeout: 4_000 }))

export const addWithUndo = (title: string, undo: () => unknown): void =>
  whenItHears(() => {
    const id = manager.add({
      title,
      timeout: 10_000,
      actionProps: {
        children: 'Undo',
        onClick() {
          manager.close(id)
          void undo()
        },
      },
    })
  })

export default function ToastList() {
  // After the effects of the child that subscribes.
  useEffect(() => {
    hears = true
    for (const tell of waiting.splice(0)) tell()
    return () => {
      hears = false
    }
  }, [])
  return (
    <Toast.Provider toastManager={manager} limit={3}>
      <Toast.Portal>
        <Toast.Viewport className="fixed inset-x-4 bottom-4 z-60 flex flex-col gap-2 sm:left-auto sm:w-80">
          <List />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  )
}

function List() {
  const { toasts } = Toast.useToastManager()
  return toasts.map((toast) => (
    <Toast.Root
      key={toast.id}
      toast={toast}
      className="border border-keyline bg-sheet shadow-[0_12px_32px_-12px_rgb(8_14_22/.4)] transition-opacity duration-200 data-ending-style:opacity-0 data-starting-style:opacity-0 data-limited:hidden"
    >
      <Toast.Content className="flex items-center gap-2 py-1 pr-1 pl-3">
        <Toast.Title className="min-w-0 flex-1 text-sm" />
        {toast.actionProps && <Toast.Action className={buttonClass('quiet')} />}
        {/* Base UI would hide it from screen readers until focused, but keep it in the tab order. */}
        <Toast.Close aria-label="Dismiss" aria-hidden={false} className={buttonClass('quiet', true)}>
          <Icon name="close" />
        </Toast.Close>
      </Toast.Content>
    </Toast.Root>
  ))
}
