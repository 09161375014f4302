import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useAccount, workspacesQuery } from '../shared/session.ts'
import { Button, buttonClass } from '../ui/button.tsx'
import { SelectField } from '../ui/field.tsx'
import { Empty, Failure, Waiting } from '../ui/notice.tsx'
import { Breakdown } from './breakdown.tsx'
import { Calls } from './calls.tsx'
import { Choice } from './choice.tsx'
import { Credits } from './credits.tsx'
import { DayChart } from './day-chart.tsx'
import { measures } from './measures.ts'
import { type Usage, csvOf, usageQuery } from './queries.ts'
import { stackOf } from './stack.ts'
import { Totals } from './totals.tsx'
import { type Narrowing, type View, narrowings } from '../shared/views/usage.ts'
import { daysUpTo } from './days.ts'

const UNNAMED = 'No key (app)'
const keyName = ({ key_id, name }: Usage['by_key'][number]): string =>
  name ?? (key_id === null ? UNNAMED : `Key …${key_id.slice(-6)}`)

export function UsagePage() {
  const view = useSearch({ from: '/shell/ai-routing/usage' })
  const navigate = useNavigate()
  const set = (change: Partial<View>) =>
    void navigate({ to: '/ai-routing/usage', search: { ...view, ...change }, replace: true, resetScroll: false })
  const narrow = (name: Narrowing, value: string) => {
    const { [name]: before, ...others } = view
    void navigate({
      to: '/ai-routing/usage',
      search: before === value ? others : { ...others, [name]: value },
      replace: true,
      resetScroll: false,
    })
  }
  const { data: usage, error, refetch, isPlaceholderData } = useQuery(usageQuery(view))
  return (
    <>
      <Credits />
      <div className="mb-6 flex flex-wrap items-end gap-x-5 gap-y-3">
        <Whose value={view.whose} onValue={(whose) => set({ whose })} />
        <Choice
          label="Period"
          value={view.days}
          onValue={(days) => set({ days })}
          options={[
            [7, '7 days'],
            [30, '30 days'],
            [90, '90 days'],
          ]}
        />
        <Choice
          label="Measure"
          value={view.measure}
          onValue={(measure) => set({ measure })}
          options={(['cost', 'tokens', 'calls'] as const).map((one) => [one, measures[one].label] as const)}
        />
        <Choice
          label="Group by"
          value={view.by}
          onValue={(by) => set({ by })}
          options={[
            ['model', 'Model'],
            ['provider', 'Provider'],
            ['key', 'Key'],
          ]}
        />
        <a href={csvOf(view)} download="usage.csv" className={`${buttonClass()} h-[2.375rem]!`}>
          Download CSV
        </a>
      </div>
      <Narrowed view={view} usage={usage} onRemove={narrow} />
      {error && !usage ? (
        <Failure what="Usage" error={error} again={refetch} />
      ) : !usage ? (
        <Waiting what="usage" rows={5} />
      ) : usage.total.calls === 0 ? (
        <Empty title="No calls in this period">
          Model calls appear here once they finish, with their tokens, cost and API key.
        </Empty>
      ) : (
        <div aria-busy={isPlaceholderData} className={isPlaceholderData ? 'opacity-60 transition-opacity' : ''}>
          <Figures usage={usage} view={view} onNarrow={narrow} />
        </div>
      )}
      {view.whose !== 'instance' && <Calls key={view.whose} view={view} />}
    </>
  )
}

function Narrowed({
  view,
  usage,
  onRemove,
}: {
  view: View
  usage: Usage | undefined
  onRemove: (name: Narrowing, value: string) => void
}) {
  const on = narrowings.flatMap((name) => (view[name] === undefined ? [] : [{ name, value: view[name] }]))
  if (on.length === 0) return null
  const say = (name: Narrowing, value: string): string => {
    const key = name === 'key' && usage?.by_key.find(({ key_id }) => key_id === value)
    return key ? keyName(key) : value
  }
  return (
    <ul aria-label="Filters" className="mb-5 flex flex-wrap gap-2">
      {on.map(({ name, value }) => (
        <li key={name}>
          <Button icon="close" onClick={() => onRemove(name, value)}>
            <span className="sr-only">Clear filter </span>
            {name}: {say(name, value)}
          </Button>
        </li>
      ))}
    </ul>
  )
}

function Figures({
  usage,
  view,
  onNarrow,
}: {
  usage: Usage
  view: View
  onNarrow: (name: Narrowing, value: string) => void
}) {
  const { by, measure, whose } = view
  const choosing = (name: Narrowing) => ({ chosen: view[name], onChoose: (value: string) => onNarrow(name, value) })
  const { label, of, say } = measures[measure]
  const count = (Date.parse(usage.to) - Date.parse(usage.from)) / 86_400_000 + 1
  const names = new Map(usage.by_key.map((row) => [row.key_id, keyName(row)]))
  // While loading, the data is from the previous view; unknown names are shown unchanged.
  const parts = usage.series.map((row) => ({ day: row.day, name: names.get(row.name) ?? row.name, value: of(row) }))
  const stack = stackOf(parts, daysUpTo(usage.to, count), UNNAMED)
  return (
    <>
      <Totals total={usage.total} mine={whose === 'mine'} />
      <DayChart key={`${by} ${count}`} stack={stack} label={label} say={say} />
      <div className="mt-4 grid items-start gap-4 xl:grid-cols-2">
        <Breakdown
          title="By model"
          measure={measure}
          {...choosing('model')}
          rows={usage.by_model.map((row) => ({ ...row, name: row.model, value: row.model }))}
        />
        <Breakdown
          title="By provider"
          measure={measure}
          {...choosing('provider')}
          rows={usage.by_provider.map((row) => ({ ...row, name: row.provider, value: row.provider }))}
        />
        <Breakdown
          title="By key"
          measure={measure}
          {...choosing('key')}
          rows={usage.by_key.map((row) => ({ ...row, name: keyName(row), value: row.key_id }))}
        />
        <Breakdown
          title="By API"
          measure={measure}
          {...choosing('surface')}
          rows={usage.by_surface.map((row) => ({ ...row, name: row.surface, value: row.surface }))}
        />
        {usage.by_member.length > 1 && (
          <Breakdown
            title="By member"
            measure={measure}
            rows={usage.by_member.map((row) => ({ ...row, name: row.name ?? row.user_id }))}
          />
        )}
      </div>
    </>
  )
}

function Whose({ value, onValue }: { value: string; onValue: (value: string) => void }) {
  const { administrator } = useAccount()
  const { data = [] } = useQuery(workspacesQuery)
  return (
    <SelectField
      label="Scope"
      className="w-full sm:w-56"
      value={value}
      onValue={onValue}
      options={[
        ['mine', 'All my calls'],
        ...data.map(({ id, name }) => [id, `In ${name}`] as const),
        ...(administrator ? [['instance', 'All calls on this instance'] as const] : []),
      ]}
    />
  )
}
