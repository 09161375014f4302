import { Button } from '../../ui/button.tsx'
import { useVersion } from './version.ts'

const said = {
  newer: 'A new version is here. This page loads it once you leave it alone.',
  torn: 'A part of the app could not be loaded, also not after a reload. What is on this page still works.',
}

/** The server came back with another app, or does not give a part of this one: this page goes on until it is reloaded. */
export function VersionBar() {
  const version = useVersion()
  return (
    <div role="status" className="empty:hidden">
      {version !== 'same' && (
        <p className="flex flex-wrap items-center gap-x-4 gap-y-1 border-b border-ai/35 bg-ai-wash px-4 py-1.5 text-sm">
          <span className="min-w-0 flex-1">{said[version]}</span>
          <Button onClick={() => location.reload()}>Reload now</Button>
        </p>
      )}
    </div>
  )
}
