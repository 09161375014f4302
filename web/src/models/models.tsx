import { infiniteQueryOptions, keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { type Model, uk } from '../shared/api.ts'
import { SelectField, TextField } from '../ui/field.tsx'
import { Paged } from '../ui/more.tsx'
import { Empty } from '../ui/notice.tsx'
import { Tag } from '../ui/page.tsx'
import { useSettled } from '../ui/typing/settled.ts'
import { perMillion, plural, short } from '../ui/text/format.ts'
import { Name } from '../ui/text/words.tsx'
import type { ModelsView } from './view.ts'

const AT_ONCE = 50

const modelsQuery = ({ q, status, capability, context, sort }: ModelsView) =>
  infiniteQueryOptions({
    queryKey: ['models', 'page', q, status, capability, context, sort],
    queryFn: async ({ pageParam }) => {
      const response = await uk.models.search({
        limit: AT_ONCE,
        offset: pageParam,
        ...(q && { q }),
        ...(status && { status }),
        ...(capability && { capability: [capability] }),
        ...(context && { min_context_length: context }),
        ...(sort && { sort }),
      })
      return {
        rows: response.items,
        total: response.total_count,
        next: response.has_more ? pageParam + response.items.length : null,
      }
    },
    initialPageParam: 0,
    getNextPageParam: ({ next }) => next,
    placeholderData: keepPreviousData,
    staleTime: 30_000,
  })

const statuses = [
  ['', 'Available'],
  ['failing', 'Failing'],
  ['no_provider', 'No provider'],
  ['all', 'All models'],
] as const
const capabilities = [
  ['', 'Any'],
  ['tools', 'Tools'],
  ['vision', 'Images'],
  ['reasoning', 'Reasoning'],
  ['structured_outputs', 'Structured output'],
  ['prompt_caching', 'Prompt caching'],
] as const
const contexts: readonly (readonly [string, string])[] = [
  ['', 'Any'],
  ['32000', '32 K'],
  ['128000', '128 K'],
  ['200000', '200 K'],
  ['1000000', '1 M'],
]
const sorts = [
  ['', 'Name'],
  ['price', 'Price'],
  ['context_length', 'Context'],
  ['capability_index', 'Capability'],
  ['created_at', 'Newest'],
] as const

export function ModelsPage() {
  const view = useSearch({ from: '/shell/ai-routing/models' })
  const navigate = useNavigate()
  const [typed, setTyped] = useState(view.q ?? '')
  const words = useSettled(typed.trim(), 250)
  const set = (change: Record<string, unknown>) => {
    const next = Object.entries({ ...view, ...change }).filter(([, value]) => value !== '')
    void navigate({ to: '/ai-routing/models', search: Object.fromEntries(next), replace: true, resetScroll: false })
  }
  useEffect(() => {
    if (words !== (view.q ?? '')) set({ q: words })
  }, [words])
  const query = useInfiniteQuery(modelsQuery(view))
  const total = query.data?.pages[0]?.total
  return (
    <>
      <form
        role="search"
        aria-label="Models"
        className="mb-5 flex flex-wrap items-end gap-x-4 gap-y-3"
        onSubmit={(event) => event.preventDefault()}
      >
        <TextField
          label="Search models"
          type="search"
          className="min-w-0 flex-1 basis-56"
          value={typed}
          onValue={setTyped}
          placeholder="gpt"
        />
        <SelectField
          label="Status"
          className="w-full sm:w-48"
          value={view.status ?? ''}
          onValue={(status) => set({ status })}
          options={statuses}
        />
        <SelectField
          label="Capability"
          className="w-full sm:w-44"
          value={view.capability ?? ''}
          onValue={(capability) => set({ capability })}
          options={
            view.capability && !capabilities.some(([one]) => one === view.capability)
              ? [...capabilities, [view.capability, view.capability]]
              : capabilities
          }
        />
        <SelectField
          label="Min. context"
          className="w-full sm:w-32"
          value={view.context === undefined ? '' : String(view.context)}
          onValue={(context) => set({ context: context === '' ? '' : Number(context) })}
          options={contexts}
        />
        <SelectField
          label="Sort by"
          className="w-full sm:w-36"
          value={view.sort ?? ''}
          onValue={(sort) => set({ sort })}
          options={sorts}
        />
      </form>
      {total !== undefined && (
        <p role="status" className="mb-2 text-[0.8125rem] text-quiet">
          {plural(total, 'model')}, prices in USD per million tokens
        </p>
      )}
      <Paged
        query={query}
        what="the models"
        label="Models"
        none={
          <Empty title="No matching models">
            Remove a filter, or show all models. Models without a provider become available once you add one.
          </Empty>
        }
      >
        {(model) => <Row model={model} onCapability={(capability) => set({ capability })} />}
      </Paged>
    </>
  )
}

function Row({ model, onCapability }: { model: Model; onCapability: (capability: string) => void }) {
  const { slug, name, provider, pricing, context_length, max_output_tokens, modalities, capabilities, status } = model
  return (
    <div className="figures flex flex-wrap items-baseline gap-x-5 gap-y-1 text-sm">
      <div className="min-w-0 flex-1 basis-72">
        <p className="flex flex-wrap items-center gap-x-2 gap-y-1">
          <span className="font-medium break-words">{name}</span>
          {status === 'failing' && <Tag tone="bad">failing</Tag>}
          {status === 'no_provider' && <Tag>no provider</Tag>}
        </p>
        <p className="font-mono text-[0.8125rem] text-quiet">
          <Name>{slug}</Name>
        </p>
        <p className="mt-0.5 text-[0.8125rem] text-quiet">
          {status === 'no_provider' ? `from ${provider}` : `served by ${provider}`}
          {modalities.input.length > 0 && ` · input: ${modalities.input.join(', ')}`}
          {modalities.output.length > 0 && ` · output: ${modalities.output.join(', ')}`}
        </p>
        {model.status_reason && <p className="text-[0.8125rem] break-words text-seal">{model.status_reason}</p>}
        {capabilities.length > 0 && (
          <p className="mt-1 flex flex-wrap gap-1.5">
            {capabilities.map((one) => (
              <button
                key={one}
                type="button"
                title={`Show only models with ${one}`}
                onClick={() => onCapability(one)}
                className="rounded-xs border border-line px-1.5 text-xs leading-5 text-quiet hover:border-ink hover:text-ink"
              >
                {one.replaceAll('_', ' ')}
              </button>
            ))}
          </p>
        )}
      </div>
      <span className="text-[0.8125rem] text-quiet sm:w-36 sm:text-right">
        {context_length === null ? 'context unknown' : `${short(context_length)} context`}
        {max_output_tokens !== null && <span className="block">{short(max_output_tokens)} output</span>}
      </span>
      <span
        className="ml-auto text-right sm:w-44"
        title={model.price_source ? `Source: ${model.price_source}` : undefined}
      >
        {pricing === null ? (
          <span className="text-quiet">no price</span>
        ) : (
          <>
            {perMillion(pricing.input)} <span className="text-quiet">input</span> · {perMillion(pricing.output)}{' '}
            <span className="text-quiet">output</span>
            {pricing.cache_read !== null && (
              <span className="block text-[0.8125rem] text-quiet">{perMillion(pricing.cache_read)} from a cache</span>
            )}
          </>
        )}
      </span>
    </div>
  )
}
