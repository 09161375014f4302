import { Button } from '../../ui/button.tsx'
import { DiffView } from '../versions/diff-view.tsx'
import type { DriveFile } from '../queries.ts'

/**
 * The question after somebody saved meanwhile: the differences between theirs and yours, and the text that is to hold.
 * Both stay as versions.
 */
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
          <strong className="font-medium">
            Somebody saved version {theirs.content_version} while you were writing.
          </strong>{' '}
          From theirs (−) to yours (+):
        </p>
        <Button look="primary" onClick={onMine}>
          Save mine over it
        </Button>
        <Button onClick={onTheirs}>Take theirs</Button>
        <Button look="quiet" onClick={onLater}>
          Go on writing
        </Button>
      </div>
      <DiffView before={theirText} after={mine} label="From theirs to yours" />
    </section>
  )
}
