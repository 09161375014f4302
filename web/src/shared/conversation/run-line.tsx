import { Button } from '../../ui/button.tsx'
import { Refused } from '../../ui/notice.tsx'
import type { Run } from './queries.ts'
import { Unpaid, isUnpaid } from './unpaid.tsx'

export function RunLine({ run: { status, error }, onAgain }: { run: Run; onAgain: () => void }) {
  if (status === 'failed' && isUnpaid(error?.code))
    return <Unpaid code={error.code} message={error.message} onAgain={onAgain} />
  // The run's server stopped, and no other server could take over.
  if (status === 'failed' && error?.code === 'interrupted')
    return (
      <div className="flex flex-wrap items-center gap-3 text-sm">
        <p role="status" className="min-w-0 flex-1 basis-64 text-quiet">
          The server stopped during this response. The text so far is kept.
        </p>
        <Button onClick={onAgain}>Continue response</Button>
      </div>
    )
  if (status === 'failed')
    return (
      <div className="flex flex-wrap items-center gap-3">
        <div className="min-w-0 flex-1 basis-64">
          <Refused>{`The response failed: ${error?.message ?? 'unknown error.'}`}</Refused>
        </div>
        <Button onClick={onAgain}>Retry</Button>
      </div>
    )
  const words = {
    queued: 'The response is waiting to start.',
    requires_action: 'The response is waiting for your approval above.',
    cancelled: 'The response was stopped. The text so far is kept.',
    running: null,
    completed: null,
  }[status]
  return words === null ? null : (
    <p role="status" className="text-sm text-quiet">
      {words}
    </p>
  )
}
