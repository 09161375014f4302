import { useState, useSyncExternalStore } from 'react'
import { Button, IconButton } from '../../../ui/button.tsx'
import { bytes, plural } from '../../../ui/text/format.ts'
import { useUnsaved } from '../../../ui/typing/unsaved.ts'
import { type Entry, isMoving, isOpen } from './entry.ts'
import { MAX_KEPT_BYTES } from './stored-uploads.ts'
import { leftWords } from './rate.ts'
import { UploadRow } from './upload-row.tsx'
import { uploads } from './uploads.ts'

export function Tray() {
  const list = useSyncExternalStore(uploads.subscribe, uploads.list)
  const [folded, setFolded] = useState(false)
  useUnsaved(list.some(isLostWithPage))
  const open = list.filter(isOpen)
  const asking = list.filter(({ state }) => state.is === 'conflict')
  return (
    <section
      aria-label="Uploads"
      className="fixed inset-x-3 bottom-3 z-20 flex max-h-[60dvh] flex-col border border-keyline bg-paper shadow-[0_16px_40px_-16px_rgb(8_14_22/.5)] sm:left-auto sm:w-96"
    >
      <header className="flex items-center gap-1 border-b border-line py-1 pr-1 pl-3">
        <h2 className="min-w-0 flex-1 text-sm font-medium" aria-live="polite">
          {open.length === 0
            ? `${plural(list.length, 'upload')} complete`
            : `${plural(open.length, 'upload')} in progress`}
        </h2>
        <p className="figures text-[0.8125rem] whitespace-nowrap text-quiet">{summary(list)}</p>
        <IconButton
          label={folded ? 'Expand uploads' : 'Collapse uploads'}
          icon={folded ? 'up' : 'down'}
          aria-expanded={!folded}
          onClick={() => setFolded(!folded)}
        />
        {open.length === 0 && <IconButton label="Close uploads" icon="close" onClick={() => uploads.clear()} />}
      </header>
      {!folded && (
        <>
          {asking.length > 1 && (
            <div className="flex flex-wrap items-center gap-2 border-b border-line bg-sheet px-3 py-2">
              <p className="min-w-0 flex-1 basis-40 text-sm">{asking.length} names are taken. For all of them:</p>
              <Button onClick={() => uploads.settle(asking[0]!.key, 'rename', true)}>Keep both</Button>
              <Button onClick={() => uploads.settle(asking[0]!.key, 'version', true)}>Replace</Button>
            </div>
          )}
          <ul aria-label="Uploading files" tabIndex={0} className="min-h-0 divide-y divide-line overflow-y-auto">
            {list.slice(0, MAX_SHOWN).map((entry) => (
              <UploadRow key={entry.key} entry={entry} />
            ))}
          </ul>
          {list.length > MAX_SHOWN && (
            <p className="border-t border-line px-3 py-1.5 text-[0.8125rem] text-quiet">
              and {plural(list.length - MAX_SHOWN, 'more file')}
            </p>
          )}
        </>
      )}
    </section>
  )
}
const MAX_SHOWN = 100

function summary(list: readonly Entry[]): string {
  const rate = list.reduce((sum, { rate: of }) => sum + (of ?? 0), 0)
  const bytesLeft = list.filter(isMoving).reduce((sum, { size, sent }) => sum + size - sent, 0)
  return [rate > 0 ? `${bytes(rate)}/s` : null, leftWords(bytesLeft, rate)]
    .filter((words) => words !== null)
    .join(' · ')
}

/** Whether leaving the page loses the upload, because the browser didn't store its file. */
const isLostWithPage = (entry: Entry): boolean =>
  isMoving(entry) && (entry.size > MAX_KEPT_BYTES || !('locks' in navigator))
