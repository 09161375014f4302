import { Suspense, lazy } from 'react'
import { useShowing } from './open.ts'

const Palette = lazy(() => import('./palette.tsx'))
const NewKey = lazy(() => import('./new-key.tsx'))

/** The palette and the forms of its actions, read when they are first asked for. */
export function PaletteHost() {
  const showing = useShowing()
  if (showing === 'nothing') return null
  return <Suspense fallback={null}>{showing === 'palette' ? <Palette /> : <NewKey />}</Suspense>
}
