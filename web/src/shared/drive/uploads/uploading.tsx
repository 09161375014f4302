import { Suspense, lazy, useEffect, useSyncExternalStore } from 'react'
import { uploads } from './uploads.ts'

const Tray = lazy(() => import('./tray.tsx').then(({ Tray }) => ({ default: Tray })))

export function Uploading({ accountId }: { accountId: string }) {
  useEffect(() => void uploads.begin(accountId), [accountId])
  const some = useSyncExternalStore(uploads.subscribe, uploads.list).length > 0
  return some ? (
    <Suspense>
      <Tray />
    </Suspense>
  ) : null
}
