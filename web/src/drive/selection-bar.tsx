import { Button } from '../ui/button.tsx'
import type { Action } from '../ui/dialogs/menu.tsx'
import { bytes, plural } from '../ui/text/format.ts'
import type { DriveFile } from '../shared/drive/files.ts'

export function SelectionBar({
  chosen,
  total,
  actions,
  onNone,
}: {
  chosen: readonly DriveFile[]
  total: number
  actions: readonly Action[]
  onNone: () => void
}) {
  const size = chosen.reduce((sum, { size_bytes }) => sum + (size_bytes ?? 0), 0)
  return (
    <div className="flex min-h-11 flex-wrap items-center gap-x-1 border-b border-line px-3 text-[0.8125rem]">
      <p role="status" className="figures mr-3 text-quiet">
        {chosen.length === 0
          ? plural(total, 'item')
          : `${chosen.length} of ${total} selected${size > 0 ? `, ${bytes(size)}` : ''}`}
      </p>
      {chosen.length > 0 && (
        <>
          {actions.map(({ label, run, danger }) => (
            <Button key={label} look="quiet" className={`px-2.5! ${danger ? 'text-seal!' : ''}`} onClick={run}>
              {label}
            </Button>
          ))}
          <Button look="quiet" className="px-2.5!" onClick={onNone}>
            Clear selection
          </Button>
        </>
      )}
    </div>
  )
}
