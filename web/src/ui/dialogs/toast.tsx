import { Suspense, lazy, useSyncExternalStore } from 'react'

const load = () => import('./toast-list.tsx')
const ToastList = lazy(load)

let isWanted = false
const listeners = new Set<() => void>()

function withList(tell: (list: typeof import('./toast-list.tsx')) => void): void {
  isWanted = true
  for (const listener of listeners) listener()
  void load().then(tell)
}

/** Says that something was done, also to who does not see it. Nothing of it is read before there is something to say. */
export const say = (title: string): void => withList(({ add }) => add(title))

/** The same, with the way back for as long as it is shown. */
export const sayUndo = (title: string, undo: () => unknown): void =>
  withList(({ addWithUndo }) => addWithUndo(title, undo))

export function Toasts() {
  const wanted = useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => isWanted,
  )
  return wanted ? (
    <Suspense fallback={null}>
      <ToastList />
    </Suspense>
  ) : null
}
