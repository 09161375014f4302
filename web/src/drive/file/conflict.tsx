import { Button } from '../../ui/button.tsx'
import { DiffView } from '../versions/diff-view.tsx'
import type { DriveFile } from '../../shared/drive/files.ts'

/** Asks how to resolve a conflict with another user's edit, with a diff. Both texts are kept as versions. */
export function Conflict({
  theirs,
  theirText,
  mine,
  onMine,
  onTheirs,
  onLater,
}: {
  theirs: DriveFile
  theirText: string
  mine: string
  onMine: () => void
  onTheirs: () => void
  onLater: () => void
}) {
  return (
    <section
      aria-label="Conflict"
      role="alertdialog"
      className="flex max-h-[50%] flex-col border-b border-keyline bg-sheet"
    >
      <div className="flex flex-wrap items-center gap-2 px-3 py-2">
        <p className="min-w-0 flex-1 basis-72 text-sm">
          <strong className="font-medium">Version {theirs.content_version} was saved while you were editing.</strong>{' '}
          Their version (−), your version (+):
        </p>
        <Button look="primary" onClick={onMine}>
          Save your version
        </Button>
        <Button onClick={onTheirs}>Use their version</Button>
        <Button look="quiet" onClick={onLater}>
          Keep editing
        </Button>
      </div>
      <DiffView before={theirText} after={mine} label="Their version compared with yours" />
    </section>
  )
}
