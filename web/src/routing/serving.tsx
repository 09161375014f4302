import { useQuery } from '@tanstack/react-query'
import type { Provider } from '../api.ts'
import { plural } from '../ui/text/format.ts'
import { Empty, Failure, Waiting } from '../ui/notice.tsx'
import { Rows, Section, Tag } from '../ui/page.tsx'
import { Words } from '../ui/text/words.tsx'
import { providersQuery } from './queries.ts'
import { billings, sayShape, sources } from './words.ts'

/** The providers that would answer a call of yours now, no matter whose key it is. */
export function Serving() {
  const { data: providers, error, refetch } = useQuery(providersQuery)
  return (
    <Section title="Serving now" about="Everyone who can answer a call of yours at this moment.">
      {error && !providers ? (
        <Failure what="The providers" error={error} again={refetch} />
      ) : !providers ? (
        <Waiting what="the providers" rows={2} />
      ) : providers.length === 0 ? (
        <Empty title="Nobody serves models yet">
          Add a provider with a key of yours above, or start an Ollama on the machine of this server: it is found by
          itself.
        </Empty>
      ) : (
        <Rows label="Providers that serve now">
          {providers.map((provider) => (
            <ProviderRow key={provider.id} provider={provider} />
          ))}
        </Rows>
      )}
    </Section>
  )
}

function ProviderRow({ provider }: { provider: Provider }) {
  const { name, slug, shape, billing, source, models_count, status, status_reason } = provider
  const { words, tone, about } = billings[billing]
  return (
    <li className="flex flex-wrap items-center gap-x-6 gap-y-1 px-4 py-3">
      <div className="min-w-0 flex-1 basis-52">
        <p className="flex flex-wrap items-center gap-2">
          <span className="font-medium break-words">{name}</span>
          {status !== 'available' && (
            <Tag tone={status === 'set_aside' ? 'bad' : 'warn'}>
              {status === 'set_aside' ? 'asked last for now' : 'degraded'}
            </Tag>
          )}
        </p>
        <p className="text-[0.8125rem] text-quiet">
          <code className="font-mono">{slug}/…</code> · {sayShape(shape)}
        </p>
        {status_reason && (
          <p className="text-[0.8125rem] text-quiet">
            <Words>{status_reason}</Words>
          </p>
        )}
      </div>
      <p className="figures w-28 text-sm sm:text-right">{plural(models_count, 'model')}</p>
      <p className="flex w-44 flex-wrap items-center gap-2 text-[0.8125rem] text-quiet sm:justify-end" title={about}>
        {sources[source]} <Tag tone={tone}>{words}</Tag>
      </p>
    </li>
  )
}
