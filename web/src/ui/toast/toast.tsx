import { type ComponentType, useSyncExternalStore } from 'react'

/** The toasts: nothing until there is a message, then the lazy list; plain text if the list can't be loaded. */
type ToastState = { list: ComponentType } | { words: string } | null

const PLAIN_MS = 4_000

let shown: ToastState = null
const listeners = new Set<() => void>()
function show(next: ToastState): void {
  shown = next
  for (const listener of listeners) listener()
}

async function saying(title: string, tell: (list: typeof import('./toast-list.tsx')) => void): Promise<void> {
  const list = await import('./toast-list.tsx').catch(() => null)
  if (list !== null) {
    tell(list)
    return show({ list: list.default })
  }
  // Messages matter most while offline.
  const plain = { words: title }
  show(plain)
  setTimeout(() => shown === plain && show(null), PLAIN_MS)
}

/** Shows a toast and announces it to screen readers. The list is loaded with the first message. */
export const say = (title: string): void => void saying(title, ({ add }) => add(title))

export const sayUndo = (title: string, undo: () => unknown): void =>
  void saying(title, ({ addWithUndo }) => addWithUndo(title, undo))

export function Toasts() {
  const now = useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => shown,
  )
  if (now !== null && 'list' in now) return <now.list />
  return (
    <p
      role="status"
      className="fixed inset-x-4 bottom-4 z-60 border border-keyline bg-sheet px-3 py-2 text-sm empty:hidden sm:left-auto sm:w-80"
    >
      {now?.words}
    </p>
  )
}
