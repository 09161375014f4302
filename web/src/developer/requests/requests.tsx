import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { useAccount, workspacesQuery } from '../../shared/session.ts'
import { Button } from '../../ui/button.tsx'
import { SelectField, TextField } from '../../ui/field.tsx'
import { Paged } from '../../ui/more.tsx'
import { Empty } from '../../ui/notice.tsx'
import { Tag, type Tone } from '../../ui/page.tsx'
import { moment, short, usd } from '../../ui/text/format.ts'
import { Ago } from '../../ui/text/time.tsx'
import { keysQuery } from '../../shared/keys/keys.ts'
import { DeveloperPage } from '../frame.tsx'
import type { Filters } from './filters.ts'
import { type LoggedRequest, requestsQuery } from './queries.ts'

export function Requests() {
  const filters = useSearch({ from: '/shell/developer/requests' })
  const query = useInfiniteQuery(requestsQuery(filters))
  const narrowed = Object.keys(filters).length > 0
  return (
    <DeveloperPage
      title="Request log"
      lead="Every model call with its providers, timing and cost. Prompts and responses aren’t logged."
      action={<ById />}
    >
      <Narrow key={JSON.stringify(filters)} filters={filters} />
      <Paged
        query={query}
        what="the requests"
        label="Requests"
        none={
          <Empty title={narrowed ? 'No matching requests' : 'No requests yet'}>
            {narrowed ? (
              <Link to="/developer/requests" search={{}} className="link">
                Clear filters
              </Link>
            ) : (
              'Model calls by your API keys, chats and agents appear here shortly after they end, including rejected ones.'
            )}
          </Empty>
        }
      >
        {(request) => <Row request={request} filters={filters} />}
      </Paged>
    </DeveloperPage>
  )
}

const ULID = /^[0-9A-HJKMNP-TV-Z]{26}$/i

function ById() {
  const [id, setId] = useState('')
  const navigate = useNavigate()
  const requestId = id.trim().toUpperCase()
  return (
    <form
      role="search"
      aria-label="Request by ID"
      className="flex items-end gap-2"
      onSubmit={(event) => {
        event.preventDefault()
        if (ULID.test(requestId)) void navigate({ to: '/developer/requests/$id', params: { id: requestId } })
      }}
    >
      <TextField
        label={<code className="font-mono text-[0.8125rem]">x-request-id</code>}
        mono
        className="w-44 sm:w-64"
        value={id}
        onValue={setId}
        autoComplete="off"
        spellCheck={false}
      />
      <Button type="submit" className="h-[2.375rem]!" disabled={!ULID.test(requestId)}>
        Open request
      </Button>
    </form>
  )
}

const statuses = [
  ['', 'Any'],
  ['succeeded', 'Succeeded'],
  ['failed', 'Failed'],
  ['cancelled', 'Canceled'],
] as const

/** Text filters apply on blur or Enter, since each one changes the address. */
function Narrow({ filters }: { filters: Filters }) {
  const { administrator } = useAccount()
  const { data: workspaces = [] } = useQuery(workspacesQuery)
  const { data: keys = [] } = useQuery(keysQuery)
  const navigate = useNavigate()
  const [typed, setTyped] = useState({
    model: filters.model ?? '',
    provider: filters.provider ?? '',
    error: filters.error ?? '',
  })
  const set = (change: { [F in keyof Filters]: Filters[F] | '' | undefined }) => {
    const next = Object.entries({ ...filters, ...change }).filter(([, value]) => value !== '' && value !== undefined)
    void navigate({ to: '/developer/requests', search: Object.fromEntries(next), replace: true, resetScroll: false })
  }
  const word = (name: keyof typeof typed, label: string, placeholder: string) => (
    <TextField
      label={label}
      className="w-full sm:w-44"
      value={typed[name]}
      placeholder={placeholder}
      onValue={(value) => setTyped({ ...typed, [name]: value })}
      onBlur={() => typed[name] !== (filters[name] ?? '') && set(typed)}
    />
  )
  return (
    <form
      role="search"
      aria-label="Requests"
      className="mb-5 flex flex-wrap items-end gap-x-4 gap-y-3"
      onSubmit={(event) => {
        event.preventDefault()
        set(typed)
      }}
    >
      <SelectField
        label="Scope"
        className="w-full sm:w-48"
        value={filters.whose ?? ''}
        onValue={(whose) => set({ whose })}
        options={[
          ['', 'All my calls'],
          ...workspaces.map(({ id, name }) => [id, `In ${name}`] as const),
          ...(administrator ? [['instance', 'All calls on this instance'] as const] : []),
        ]}
      />
      <SelectField
        label="Status"
        className="w-full sm:w-32"
        value={filters.status ?? ''}
        onValue={(status) => set({ status })}
        options={statuses}
      />
      <SelectField
        label="Key"
        className="w-full sm:w-44"
        value={filters.key ?? ''}
        onValue={(key) => set({ key })}
        options={[['', 'Any'], ...keys.map(({ id, name }) => [id, name] as const)]}
      />
      {word('model', 'Model', 'provider/model')}
      {word('provider', 'Provider', 'openai')}
      {word('error', 'Error code', 'no_route')}
      <TextField
        label="From day"
        type="date"
        className="w-full sm:w-40"
        value={filters.from ?? ''}
        onValue={(from) => set({ from })}
      />
      <TextField
        label="To day"
        type="date"
        className="w-full sm:w-40"
        value={filters.to ?? ''}
        onValue={(to) => set({ to })}
      />
      <button type="submit" className="sr-only">
        Apply filters
      </button>
    </form>
  )
}

const tones: Record<LoggedRequest['status'], Tone> = { succeeded: 'good', failed: 'bad', cancelled: 'warn' }
export const RequestStatus = ({ status }: Pick<LoggedRequest, 'status'>) => <Tag tone={tones[status]}>{status}</Tag>

function Row({ request, filters }: { request: LoggedRequest; filters: Filters }) {
  const { id, model, asked_model, provider, surface, path, status, error_code, key_name } = request
  return (
    <div className="figures flex flex-wrap items-baseline gap-x-5 gap-y-0.5 text-sm">
      <span className="min-w-0 flex-1 basis-60">
        <Link to="/developer/requests/$id" params={{ id }} className="link break-all">
          {model ?? asked_model ?? path ?? surface}
        </Link>{' '}
        {status !== 'succeeded' && <RequestStatus status={status} />}
        {error_code && (
          <>
            {' '}
            <Link
              to="/developer/requests"
              search={{ ...filters, error: error_code }}
              title={`Show only ${error_code}`}
              className="font-mono text-[0.8125rem] text-seal hover:underline"
            >
              {error_code}
            </Link>
          </>
        )}
        <span className="block text-[0.8125rem] break-words text-quiet">
          {provider && (
            <>
              <Link
                to="/developer/requests"
                search={{ ...filters, provider }}
                title={`Show only ${provider}`}
                className="hover:underline"
              >
                {provider}
              </Link>
              {' · '}
            </>
          )}
          {surface}
          {key_name && ` · ${key_name}`} · <Ago time={request.created_at} />
        </span>
      </span>
      <span
        className="text-[0.8125rem] text-quiet sm:w-32 sm:text-right"
        title={`Started ${moment(request.created_at)}; first token / total`}
      >
        {request.first_token_ms !== null && <>{short(request.first_token_ms)} / </>}
        {short(request.duration_ms)} ms
      </span>
      <span className="text-[0.8125rem] text-quiet sm:w-28 sm:text-right">
        {request.total_tokens === null ? '—' : `${short(request.total_tokens)} tokens`}
      </span>
      <span className="ml-auto text-right sm:w-20">{request.cost_usd === null ? '—' : usd(request.cost_usd)}</span>
    </div>
  )
}
