import { useQuery } from '@tanstack/react-query'
import { plural, short, usd } from '../ui/text/format.ts'
import { type Usage, balanceQuery } from './queries.ts'

export function Totals({ total, mine }: { total: Usage['total']; mine: boolean }) {
  const { data: balance } = useQuery(balanceQuery)
  const { usage } = total
  const cached = usage.cache_read_tokens + usage.cache_write_5m_tokens + usage.cache_write_1h_tokens
  const failed = total.failed_calls + total.cancelled_calls
  return (
    <dl className="mb-6 grid grid-cols-2 gap-px border border-line bg-line md:grid-cols-4">
      <Figure label="Cost" value={usd(total.cost_usd)} note={costNote(total, mine ? (balance ?? null) : null)} />
      <Figure
        label="Calls"
        value={short(total.calls)}
        note={failed > 0 ? `${short(failed)} failed or canceled` : 'all succeeded'}
      />
      <Figure
        label="Input tokens"
        value={short(usage.input_tokens + cached)}
        note={`${short(usage.cache_read_tokens)} read from cache`}
      />
      <Figure
        label="Output tokens"
        value={short(usage.output_tokens + usage.reasoning_tokens)}
        note={`${short(usage.reasoning_tokens)} reasoning`}
      />
    </dl>
  )
}

function costNote({ unpriced_calls, charged_usd }: Usage['total'], balance: number | null): string {
  if (unpriced_calls > 0) return `plus ${plural(unpriced_calls, 'call')} without a price`
  const charged = `${usd(charged_usd)} paid with credits`
  return balance === null ? charged : `${charged}, ${usd(balance)} left`
}

const Figure = ({ label, value, note }: { label: string; value: string; note: string }) => (
  <div className="bg-sheet px-4 py-3">
    <dt className="text-[0.8125rem] text-quiet">{label}</dt>
    <dd className="figures mt-0.5 font-serif text-2xl leading-tight">{value}</dd>
    <dd className="mt-0.5 text-xs text-quiet">{note}</dd>
  </div>
)
