import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { refusal } from '../../ui/calls/errors.ts'
import { Copy } from '../../ui/copy.tsx'
import { Facts } from '../../ui/facts.tsx'
import { Empty, Failure, Waiting } from '../../ui/notice.tsx'
import { Section, Tag, type Tone } from '../../ui/page.tsx'
import { moment, number, usd } from '../../ui/text/format.ts'
import { Name } from '../../ui/text/words.tsx'
import { DeveloperPage } from '../frame.tsx'
import { type Trace, requestQuery } from './queries.ts'
import { RequestStatus } from './requests.tsx'

export function RequestPage() {
  const { id } = useParams({ from: '/shell/developer/requests/$id' })
  const { data: request, error, refetch } = useQuery(requestQuery(id))
  return (
    <DeveloperPage
      title="Request"
      lead={
        <span className="flex flex-wrap items-center gap-2">
          <code className="font-mono text-sm break-all">{id}</code>
          <Copy text={id} label="Copy ID" look="quiet" />
        </span>
      }
    >
      {refusal(error)?.status === 404 ? (
        <Empty title="Request not found">
          It isn’t a model call, its log entry has expired, or it belongs to another user. The server’s operator can
          find every request in the server log by its ID.{' '}
          <Link to="/developer/requests" className="link">
            Show all requests
          </Link>
        </Empty>
      ) : error && !request ? (
        <Failure what="The request" error={error} again={refetch} />
      ) : !request ? (
        <Waiting what="the request" rows={5} />
      ) : (
        <Told request={request} />
      )}
    </DeveloperPage>
  )
}

function Told({ request }: { request: Trace }) {
  const { status, error_code, error_message, tried, losses, usage } = request
  return (
    <>
      {error_code && (
        <div className="mb-5 border border-seal/40 bg-seal-wash px-4 py-3 text-sm text-seal">
          <p>
            <code className="font-mono">{error_code}</code>
            {request.http_status !== null && ` (HTTP ${request.http_status})`}
          </p>
          {error_message && <p className="mt-1 break-words text-ink">{error_message}</p>}
        </div>
      )}
      <Facts
        facts={[
          ['Status', <RequestStatus key="state" status={status} />],
          ['Requested model', request.asked_model && <Name>{request.asked_model}</Name>],
          [
            'Served by',
            request.model && <Name>{`${request.model}${request.provider ? ` at ${request.provider}` : ''}`}</Name>,
          ],
          ['Path', request.path && <code className="font-mono break-all">{request.path}</code>],
          ['API', `${request.surface}${request.streamed ? ', streamed' : ''}`],
          ['Request size', request.request_bytes !== null && `${number(request.request_bytes)} bytes`],
          ['Started', moment(request.created_at)],
          ['First token', request.first_token_ms !== null && `after ${number(request.first_token_ms)} ms`],
          ['Duration', `${number(request.duration_ms)} ms`],
          ['Finish reason', request.finish_reason],
          ['Key', request.key_name ?? (request.key_id ? `…${request.key_id.slice(-6)}` : 'no key (app)')],
          [
            'Chat',
            request.chat_id && (
              <Link className="link" to="/chats/$id" params={{ id: request.chat_id }}>
                View conversation
              </Link>
            ),
          ],
          [
            'Cost',
            request.cost_usd === null
              ? 'price unknown, or free'
              : `${usd(request.cost_usd)}${request.cost_source ? `, ${request.cost_source}` : ''}${request.billing ? `, ${billings[request.billing]}` : ''}`,
          ],
        ]}
      />
      {tried.length > 0 && <TriedList tried={tried} />}
      {usage && <Tokens usage={usage} />}
      {losses.length > 0 && (
        <Section
          title="Dropped fields"
          about="Request fields that the provider’s API doesn’t support. With the x-uk-strict header, such requests are rejected."
        >
          <ul className="flex flex-wrap gap-2">
            {losses.map((loss) => (
              <li key={loss}>
                <Tag tone="warn">{loss}</Tag>
              </li>
            ))}
          </ul>
        </Section>
      )}
    </>
  )
}

const billings = { byok: 'with your own key', credits: 'paid with credits', free: 'free' } as const
const outcomes: Record<Trace['tried'][number]['outcome'], [words: string, tone: Tone]> = {
  answered: ['succeeded', 'good'],
  failed: ['failed', 'bad'],
  refused: ['not sent', 'warn'],
  left: ['canceled', 'plain'],
}

function TriedList({ tried }: { tried: Trace['tried'] }) {
  return (
    <Section title="Attempts" about="Providers in order. Each one was tried only after the previous one failed.">
      <ol aria-label="Attempts" className="divide-y divide-line border border-line border-t-keyline bg-sheet">
        {tried.map(({ call_id, provider, model, why, outcome, status, message, duration_ms, cost_usd }, i) => (
          <li key={call_id} className="figures flex flex-wrap items-baseline gap-x-5 gap-y-1 px-4 py-3 text-sm">
            <div className="min-w-0 flex-1 basis-72">
              <p className="flex flex-wrap items-center gap-x-2">
                <span className="text-quiet">{i + 1}</span>
                <span className="font-medium break-words">{provider}</span>
                <span className="break-all text-quiet">{model}</span>
                <Tag tone={outcomes[outcome][1]}>
                  {outcomes[outcome][0]}
                  {status !== null && ` with ${status}`}
                </Tag>
              </p>
              <p className="mt-0.5 text-[0.8125rem] break-words text-quiet">
                {why || 'The only provider for this model.'}
              </p>
              {message && <p className="mt-0.5 text-[0.8125rem] break-words text-seal">{message}</p>}
            </div>
            <span className="text-[0.8125rem] text-quiet">{number(duration_ms)} ms</span>
            <span className="text-right sm:w-20">{cost_usd === null ? '—' : usd(cost_usd)}</span>
          </li>
        ))}
      </ol>
    </Section>
  )
}

const buckets = [
  ['input_tokens', 'Input'],
  ['cache_read_tokens', 'Cache read'],
  ['cache_write_5m_tokens', 'Cache write (5 minutes)'],
  ['cache_write_1h_tokens', 'Cache write (1 hour)'],
  ['output_tokens', 'Output'],
  ['reasoning_tokens', 'Reasoning'],
  ['images', 'Images'],
  ['audio_seconds', 'Audio seconds'],
  ['video_seconds', 'Video seconds'],
  ['characters', 'Characters'],
  ['total_tokens', 'Total tokens'],
] as const

function Tokens({ usage }: { usage: NonNullable<Trace['usage']> }) {
  return (
    <Section title="Usage">
      <Facts facts={buckets.map(([name, label]) => [label, usage[name] > 0 && number(usage[name])] as const)} />
    </Section>
  )
}
