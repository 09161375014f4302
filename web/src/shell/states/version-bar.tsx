import { Button } from '../../ui/button.tsx'
import { useVersion } from './version.ts'

const messages = {
  newer: 'A new version is available. It loads when this page is idle.',
  torn: 'Part of the app couldn’t be loaded, even after a reload. This page still works.',
}

/** Shown if the server has a new app version, or a part of this version can't be loaded. */
export function VersionBar() {
  const version = useVersion()
  return (
    <div role="status" className="empty:hidden">
      {version !== 'same' && (
        <p className="flex flex-wrap items-center gap-x-4 gap-y-1 border-b border-ai/35 bg-ai-wash px-4 py-1.5 text-sm">
          <span className="min-w-0 flex-1">{messages[version]}</span>
          <Button onClick={() => location.reload()}>Reload page</Button>
        </p>
      )}
    </div>
  )
}
