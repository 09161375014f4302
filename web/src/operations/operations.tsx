import { useInfiniteQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { uk } from '../shared/api.ts'
import { saysDuration } from '../ui/text/duration.ts'
import { Button } from '../ui/button.tsx'
import { SelectField } from '../ui/field.tsx'
import { Paged } from '../ui/more.tsx'
import { Empty, Refused } from '../ui/notice.tsx'
import { Page, Tag } from '../ui/page.tsx'
import { useSend } from '../ui/calls/send.ts'
import { usd } from '../ui/text/format.ts'
import { Ago } from '../ui/text/time.tsx'
import { type OperationsView, operationsViewIn, statuses } from '../shared/views/lists.ts'
import { Progress } from './progress.tsx'
import { type Operation, type Status, isGoing, operationsQuery, refreshOperations } from './queries.ts'
import { durationOf, says, tones } from './words.ts'
import { kinds, saysKind } from '../shared/operations/kinds.ts'

export function OperationsPage() {
  const { status, kind } = useSearch({ from: '/shell/operations' })
  const navigate = useNavigate({ from: '/operations' })
  const query = useInfiniteQuery(operationsQuery(status, kind))
  const look = (change: { [K in keyof OperationsView]: OperationsView[K] | undefined }): void =>
    void navigate({ search: (now) => operationsViewIn({ ...now, ...change }) })
  return (
    <Page title="Operations" lead="Background tasks started by you, your API keys, your agents or your automations.">
      <div className="mb-6 flex flex-wrap items-end gap-4">
        <SelectField<Status | ''>
          label="Status"
          className="w-full max-w-44"
          value={status ?? ''}
          onValue={(next) => look({ status: next || undefined })}
          options={[['', 'All'], ...statuses.map((one) => [one, says[one]] as const)]}
        />
        <SelectField
          label="Kind"
          className="w-full max-w-64"
          value={kind ?? ''}
          onValue={(next) => look({ kind: next || undefined })}
          options={[['', 'All'], ...kinds]}
        />
      </div>
      <Paged
        query={query}
        what="the operations"
        label="Operations"
        none={
          status !== undefined || kind !== undefined ? (
            <Empty title="No matching operations">Change the filters to see more.</Empty>
          ) : (
            <Empty title="No operations yet">
              Background commands, videos, snapshots and other long tasks appear here.{' '}
              <a className="link" href="/docs">
                Read the docs
              </a>
            </Empty>
          )
        }
      >
        {(operation) => <Row operation={operation} />}
      </Paged>
    </Page>
  )
}

function Row({ operation }: { operation: Operation }) {
  const { id, kind, status, progress, created_at, cost_usd, error } = operation
  const took = durationOf(operation)
  return (
    <div className="figures flex flex-wrap items-center gap-x-4 gap-y-1 text-sm">
      <div className="min-w-0 flex-1 basis-56">
        <p className="flex flex-wrap items-baseline gap-x-2">
          <Link to="/operations/$id" params={{ id }} className="link text-[0.9375rem] font-medium">
            {saysKind(kind)}
          </Link>
          <Tag tone={tones[status]}>{says[status]}</Tag>
        </p>
        {error && <p className="mt-0.5 break-words text-seal">{error.message}</p>}
        {isGoing(operation) && <Progress value={progress} name={saysKind(kind)} />}
      </div>
      <span className="text-[0.8125rem] text-quiet">
        <Ago time={created_at} />
      </span>
      <span className="text-right text-quiet sm:w-24">{took === null ? '—' : saysDuration(took)}</span>
      <span className="text-right sm:w-20">{cost_usd === null ? '—' : usd(cost_usd)}</span>
      {isGoing(operation) && <Cancel operation={operation} />}
    </div>
  )
}

/** Requests cancellation, which takes up to ten seconds. */
export function Cancel({ operation: { id, kind, cancel_requested_at } }: { operation: Operation }) {
  const cancel = useSend(uk.operations.cancel, refreshOperations)
  return (
    <>
      <Button
        look="danger-plain"
        aria-label={`Cancel operation: ${saysKind(kind)}`}
        pending={cancel.pending || cancel_requested_at !== null}
        onClick={() => void cancel.send({ id })}
      >
        {cancel_requested_at === null ? 'Cancel' : 'Stopping'}
      </Button>
      <Refused>{cancel.rest()}</Refused>
    </>
  )
}
