import { useQuery } from '@tanstack/react-query'
import type { Provider } from '../shared/api.ts'
import { plural } from '../ui/text/format.ts'
import { Empty, Failure, Waiting } from '../ui/notice.tsx'
import { Rows, Section, Tag } from '../ui/page.tsx'
import { providersQuery } from '../shared/providers/queries.ts'
import { StandingLines, StatusTag } from './standing.tsx'
import { billings, sayShape, sources } from '../shared/providers/words.ts'

export function Serving() {
  const { data: providers, error, refetch } = useQuery(providersQuery)
  return (
    <Section title="Available now" about="The providers that can serve your calls at the moment.">
      {error && !providers ? (
        <Failure what="The providers" error={error} again={refetch} />
      ) : !providers ? (
        <Waiting what="the providers" rows={2} />
      ) : providers.length === 0 ? (
        <Empty title="No providers available">
          Add a provider with your API key above, or start Ollama on this server’s machine. It is detected
          automatically.
        </Empty>
      ) : (
        <>
          <ProviderRows label="Available providers" providers={providers.filter(({ serving }) => serving)} />
          <ProviderRows
            label="Unavailable"
            providers={providers.filter(({ serving }) => !serving)}
            heading="Unavailable: used only if no other provider is left"
          />
        </>
      )}
    </Section>
  )
}

function ProviderRows({
  label,
  providers,
  heading,
}: {
  label: string
  providers: readonly Provider[]
  heading?: string
}) {
  if (providers.length === 0) return null
  return (
    <>
      {heading && <h3 className="eyebrow mt-6 mb-1.5">{heading}</h3>}
      <Rows label={label}>
        {providers.map((provider) => (
          <ProviderRow key={provider.id} provider={provider} />
        ))}
      </Rows>
    </>
  )
}

function ProviderRow({ provider }: { provider: Provider }) {
  const { name, slug, shape, billing, source, models_count, status, set_aside_until } = provider
  const { words, tone, about } = billings[billing]
  return (
    <li className="flex flex-wrap items-center gap-x-6 gap-y-1 px-4 py-3">
      <div className="min-w-0 flex-1 basis-52">
        <p className="flex flex-wrap items-center gap-2">
          <span className="font-medium break-words">{name}</span>
          <StatusTag status={status} />
          {set_aside_until && <Tag tone="warn">deprioritized</Tag>}
        </p>
        <p className="text-[0.8125rem] text-quiet">
          <code className="font-mono">{slug}/…</code> · {sayShape(shape)}
        </p>
        <StandingLines of={provider} />
      </div>
      <p className="figures w-28 text-sm sm:text-right">{models_count === null ? '' : plural(models_count, 'model')}</p>
      <p className="flex w-44 flex-wrap items-center gap-2 text-[0.8125rem] text-quiet sm:justify-end" title={about}>
        {sources[source]} <Tag tone={tone}>{words}</Tag>
      </p>
    </li>
  )
}
