import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Button } from '../ui/button.tsx'
import { moment, short, usd } from '../ui/text/format.ts'
import { Failure, Waiting } from '../ui/notice.tsx'
import { Section, Tag } from '../ui/page.tsx'
import { Ago } from '../ui/text/time.tsx'
import { type Call, callsQuery } from './queries.ts'
import type { View } from '../shared/views/usage.ts'

export function Calls({ view }: { view: View }) {
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery(callsQuery(view))
  const calls = data?.pages.flatMap(({ rows }) => rows)
  return (
    <Section title="Latest calls" about="Shows only your own calls.">
      {error && !calls ? (
        <Failure what="The calls" error={error} again={refetch} />
      ) : !calls ? (
        <Waiting what="the calls" />
      ) : calls.length === 0 ? (
        <p className="border border-line bg-sheet px-4 py-5 text-quiet">No calls yet.</p>
      ) : (
        <>
          <ul aria-label="Latest calls" className="divide-y divide-line border border-line border-t-keyline bg-sheet">
            {calls.map((call) => (
              <CallRow key={call.id} call={call} />
            ))}
          </ul>
          {hasNextPage && (
            <Button className="mt-3" pending={isFetchingNextPage} onClick={() => void fetchNextPage()}>
              Show more
            </Button>
          )}
        </>
      )}
    </Section>
  )
}

function CallRow({ call }: { call: Call }) {
  const {
    id,
    model,
    provider,
    surface,
    status,
    usage,
    cost_usd,
    cost_source,
    duration_ms,
    first_token_ms,
    created_at,
  } = call
  return (
    <li className="figures flex flex-wrap items-baseline gap-x-5 gap-y-0.5 px-4 py-2.5 text-sm">
      <span className="min-w-0 flex-1 basis-56">
        <Link to="/developer/requests/$id" params={{ id }} className="break-words hover:underline">
          {model}
        </Link>{' '}
        {status !== 'succeeded' && <Tag tone={status === 'failed' ? 'bad' : 'warn'}>{status}</Tag>}
        <span className="block text-[0.8125rem] text-quiet">
          {provider} · {surface} · <Ago time={created_at} />
        </span>
      </span>
      <span className="text-[0.8125rem] text-quiet sm:w-32 sm:text-right" title={`Started ${moment(created_at)}`}>
        {first_token_ms !== null && <>{short(first_token_ms)} / </>}
        {short(duration_ms)} ms
      </span>
      <span className="text-[0.8125rem] text-quiet sm:w-32 sm:text-right">{short(usage.total_tokens)} tokens</span>
      <span className="ml-auto sm:w-24 text-right" title={cost_source ? `Cost ${cost_source}` : 'Price unknown'}>
        {cost_usd === null ? '—' : usd(cost_usd)}
      </span>
    </li>
  )
}
