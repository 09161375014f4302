import { Suspense, lazy } from 'react'
import { useShowing } from './open.ts'

const Palette = lazy(() => import('./palette.tsx'))
const NewKey = lazy(() => import('./new-key.tsx'))

/** Lazy: loaded when the palette is first opened. */
export function PaletteHost() {
  const showing = useShowing()
  if (showing === 'nothing') return null
  return <Suspense fallback={null}>{showing === 'palette' ? <Palette /> : <NewKey />}</Suspense>
}
