import { Button } from '../../ui/button.tsx'
import { useIsNewer } from './version.ts'

/** The server came back with another app: this page goes on until it is reloaded. */
export function VersionBar() {
  const isNewer = useIsNewer()
  return (
    <div role="status" className="empty:hidden">
      {isNewer && (
        <p className="flex flex-wrap items-center gap-x-4 gap-y-1 border-b border-ai/35 bg-ai-wash px-4 py-1.5 text-sm">
          <span className="min-w-0 flex-1">A new version is here. This page loads it once you leave it alone.</span>
          <Button onClick={() => location.reload()}>Reload now</Button>
        </p>
      )}
    </div>
  )
}
