import { Button } from '../ui/button.tsx'
import { Refused } from '../ui/notice.tsx'
import type { Run } from './queries.ts'
import { Unpaid, isUnpaid } from './unpaid.tsx'

/** The end of the newest run, where it is more than a finished answer. */
export function RunLine({ run: { status, error }, onAgain }: { run: Run; onAgain: () => void }) {
  if (status === 'failed' && isUnpaid(error?.code))
    return <Unpaid code={error.code} message={error.message} onAgain={onAgain} />
  // The run's server died and no other could take it over: its words are kept, and nobody goes on by themselves.
  if (status === 'failed' && error?.code === 'interrupted')
    return (
      <div className="flex flex-wrap items-center gap-3 text-sm">
        <p role="status" className="min-w-0 flex-1 basis-64 text-quiet">
          The server stopped while this was being written. What it wrote by then is kept.
        </p>
        <Button onClick={onAgain}>Go on</Button>
      </div>
    )
  if (status === 'failed')
    return (
      <div className="flex flex-wrap items-center gap-3">
        <div className="min-w-0 flex-1 basis-64">
          <Refused>{`The answer failed: ${error?.message ?? 'nobody knows why.'}`}</Refused>
        </div>
        <Button onClick={onAgain}>Try again</Button>
      </div>
    )
  const words = {
    queued: 'The answer waits for its turn.',
    requires_action: 'The answer waits for your decision, above.',
    cancelled: 'The answer was stopped. What it wrote by then is kept.',
    running: null,
    completed: null,
  }[status]
  return words === null ? null : (
    <p role="status" className="text-sm text-quiet">
      {words}
    </p>
  )
}
