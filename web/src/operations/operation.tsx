import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { refusal } from '../ui/calls/errors.ts'
import { CommandLog } from '../shared/runs/log.tsx'
import { saysDuration } from '../ui/text/duration.ts'
import { useAccount } from '../shared/session.ts'
import { buttonClass } from '../ui/button.tsx'
import { Copy } from '../ui/copy.tsx'
import { Facts } from '../ui/facts.tsx'
import { Empty, Failure, Waiting } from '../ui/notice.tsx'
import { Page, Section, Tag } from '../ui/page.tsx'
import { moment, usd } from '../ui/text/format.ts'
import { Cancel } from './operations.tsx'
import { Progress } from './progress.tsx'
import { type Operation, isGoing, operationQuery } from './queries.ts'
import { durationOf, placeOf, says, tones } from './words.ts'
import { saysKind } from '../shared/operations/kinds.ts'
import { shorten } from '../../../src/core/text/shorten.ts'
import { jsonText } from '../ui/text/json-text.ts'

const MAX_SHOWN = 50_000

export function OperationPage() {
  const { id } = useParams({ from: '/shell/operations/$id' })
  const { data: operation, error, refetch } = useQuery(operationQuery(id))
  if (!operation)
    return (
      <Page title="Operation" lead="A background task.">
        {!error ? (
          <Waiting what="the operation" />
        ) : refusal(error)?.status === 404 ? (
          <Empty title="Operation not found">
            It doesn’t exist, or another user started it. You can see only your own operations.
          </Empty>
        ) : (
          <Failure what="This operation" error={error} again={refetch} />
        )}
      </Page>
    )
  return <Shown operation={operation} />
}

function Shown({ operation }: { operation: Operation }) {
  const { id, kind, status, progress, cost_usd, created_at, started_at, completed_at, expires_at } = operation
  const { name } = useAccount()
  const place = placeOf(operation)
  const took = durationOf(operation)
  return (
    <Page
      title={saysKind(kind)}
      view="Operation"
      lead={
        <>
          <Link to="/operations" className="link">
            Operations
          </Link>{' '}
          · created {moment(created_at)}
        </>
      }
      action={
        isGoing(operation) ? (
          <Cancel operation={operation} />
        ) : (
          status === 'succeeded' && (
            <a className={buttonClass('primary')} href={`/v1/operations/${id}/content`} download>
              Download result
            </a>
          )
        )
      }
    >
      {operation.error && <Failed operation={operation} />}
      <Section title="Details">
        <Facts
          facts={[
            ['Status', <Tag tone={tones[status]}>{says[status]}</Tag>],
            ['Progress', isGoing(operation) && <Progress value={progress} name={saysKind(kind)} />],
            ['Kind', <code className="font-mono">{kind}</code>],
            ['Started by', `${name}, or an agent, automation or key acting for you`],
            ['Started', started_at && moment(started_at)],
            ['Ended', completed_at && moment(completed_at)],
            ['Duration', took !== null && saysDuration(took)],
            ['Expires', isGoing(operation) && expires_at && moment(expires_at)],
            ['Cost', cost_usd !== null && usd(cost_usd)],
            [
              'Resource',
              place && (
                <a className="link" href={place.href}>
                  {place.words}
                </a>
              ),
            ],
            ['ID', <code className="font-mono break-all">{id}</code>],
          ]}
        />
      </Section>
      {kind === 'computers.exec' ? (
        <Section title="Output">
          <CommandLog operationId={id} going={isGoing(operation)} />
        </Section>
      ) : (
        operation.result !== null && <Result result={operation.result} />
      )}
    </Page>
  )
}

function Failed({ operation: { error, id } }: { operation: Operation }) {
  const details = error?.details
  const request = typeof details?.['request_id'] === 'string' ? details['request_id'] : null
  return (
    <div role="alert" className="mb-8 border border-seal/45 bg-seal-wash px-4 py-4">
      <p className="font-medium break-words text-seal">{error?.message}</p>
      <p className="figures mt-1 text-sm">
        {error?.code && (
          <>
            Code <code className="font-mono">{error.code}</code> ·{' '}
          </>
        )}
        {error?.type}
        {request !== null && (
          <>
            {' '}
            · request <code className="font-mono break-all">{request}</code>
          </>
        )}
      </p>
      <p className="mt-2 text-sm">
        Failed operations aren’t retried automatically, because they may have done part of their work. If you report
        this to the administrator, include <code className="font-mono break-all">{request ?? id}</code>.
      </p>
    </div>
  )
}

function Result({ result }: { result: unknown }) {
  const text = jsonText(result)
  return (
    <Section title="Result" action={<Copy text={text} label="Copy as JSON" look="quiet" />}>
      <pre
        tabIndex={0}
        aria-label="Result"
        className="max-h-[50dvh] overflow-auto border border-line bg-sunk/50 px-4 py-3 font-mono text-[0.8125rem] whitespace-pre-wrap [overflow-wrap:anywhere]"
      >
        {shorten(text, MAX_SHOWN)}
      </pre>
    </Section>
  )
}
