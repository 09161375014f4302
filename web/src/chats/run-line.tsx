import { Refused } from '../ui/notice.tsx'
import type { Run } from './queries.ts'

const goingOn = {
  queued: 'The answer waits for its turn.',
  running: 'The answer is being written; this page follows.',
  cancelled: 'The last run was stopped. What it wrote by then is kept.',
} as const

/** How the newest run stands, where that is more than a finished answer. */
export function RunLine({ run: { status, error, pending_actions } }: { run: Run }) {
  if (status === 'completed') return null
  if (status === 'failed') return <Refused>{`The last run failed: ${error?.message ?? 'nobody knows why.'}`}</Refused>
  return (
    <div role="status" className="border border-ochre/45 bg-sheet px-4 py-3 text-sm">
      {status !== 'requires_action' ? (
        goingOn[status]
      ) : (
        <>
          <p className="font-medium">The run waits for a decision</p>
          <ul className="mt-1">
            {pending_actions.map(({ id, kind, tool, arguments: given }) => (
              <li key={id}>
                {kind}: <code className="font-mono break-all">{`${tool} ${JSON.stringify(given)}`}</code>
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  )
}
