import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { refusal, sayError } from '../../ui/calls/errors.ts'
import { visible } from '../../ui/text/visible.ts'
import { Button } from '../../ui/button.tsx'
import { Waiting } from '../../ui/notice.tsx'
import { linesQuery } from '../queries.ts'
import type { DriveFile } from '../../shared/drive/files.ts'
import { NoPreview } from './no-preview.tsx'

const FIRST_LINES = 2_000
const MAX_LINES = 10_000

/** The text the server extracted from a document, without formatting. */
export function DocumentText({ file, why }: { file: DriveFile; why?: ReactNode }) {
  const [limit, setLimit] = useState(FIRST_LINES)
  const { data, error } = useQuery({
    ...linesQuery(file, limit),
    // The server extracts the text of new documents shortly after the upload.
    retry: (count, failure) => refusal(failure)?.status === 503 && count < 20,
    retryDelay: 1_000,
  })
  if (error && !data) return <NoPreview file={file} why={sayError(error)} />
  if (!data)
    return (
      <div className="p-4">
        <Waiting what="the text" />
      </div>
    )
  return (
    <div className="min-h-0 flex-1 overflow-y-auto" tabIndex={0} role="region" aria-label="Document text">
      <p className="border-b border-line bg-sunk/60 px-4 py-2 text-[0.8125rem] text-quiet">
        {why ?? 'Extracted text without formatting. Download the file to see the original.'}
      </p>
      <div className="max-w-[80ch] px-4 py-4 break-words whitespace-pre-wrap">
        {visible(data.lines.map(({ text }) => text).join('\n'))}
      </div>
      {data.truncated && limit < MAX_LINES && (
        <Button className="m-4 mt-0" onClick={() => setLimit(MAX_LINES)}>
          Show more
        </Button>
      )}
    </div>
  )
}
