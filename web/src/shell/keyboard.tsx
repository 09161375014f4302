import { useNavigate, useRouter } from '@tanstack/react-router'
import { Suspense, lazy, useEffect, useRef } from 'react'
import { lettersAreOn, takesLetters } from '../shared/letters.ts'
import { useAccount } from '../shared/session.ts'
import { pagesFor } from './pages.ts'
import { openPalette } from './palette/open.ts'
import { boundNow, showList, useListOpen, useShortcuts } from './shortcuts/bound.ts'
import { type Typed, meant } from './shortcuts/keys.ts'

const List = lazy(() => import('./shortcuts/list.tsx'))

export function Keyboard() {
  const navigate = useNavigate()
  const router = useRouter()
  const { administrator } = useAccount()
  const listIsOpen = useListOpen()
  useShortcuts([
    { keys: '?', says: 'Keyboard shortcuts', group: 'Everywhere', run: () => showList(true) },
    { keys: 'c', says: 'New chat', group: 'Everywhere', run: () => void navigate({ to: '/chats' }) },
    {
      keys: '/',
      says: 'Search this page',
      group: 'Everywhere',
      run: () => {
        const field = document.querySelector<HTMLElement>('main input[type="search"]')
        if (field) field.focus()
        else void navigate({ to: '/search' })
      },
    },
    ...pagesFor(administrator).map(({ to, label, keys }) => ({
      keys,
      says: label,
      group: 'Go to' as const,
      run: () => router.history.push(router.buildLocation({ to }).href),
    })),
  ])
  const before = useRef<Typed | null>(null)
  useEffect(() => {
    const hear = (event: KeyboardEvent): void => {
      const { key, ctrlKey, metaKey, altKey, shiftKey, isComposing, repeat } = event
      // Inside a shadow root, only the composed path names the focused element.
      const [target = null] = event.composedPath()
      if (isComposing || event.defaultPrevented) return
      if ((ctrlKey || metaKey) && !altKey && !shiftKey && key.toLowerCase() === 'k') {
        event.preventDefault()
        return openPalette()
      }
      if (ctrlKey || metaKey || altKey || repeat || !lettersAreOn() || takesLetters(target)) return
      const { found, typed } = meant(boundNow(), before.current, { key, at: event.timeStamp })
      before.current = typed
      if (!found) return
      event.preventDefault()
      found.run()
    }
    window.addEventListener('keydown', hear)
    return () => window.removeEventListener('keydown', hear)
  }, [])
  return listIsOpen ? (
    <Suspense fallback={null}>
      <List />
    </Suspense>
  ) : null
}
