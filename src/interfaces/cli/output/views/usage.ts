import { bytesSaid, usdSaid } from '../amounts.ts'
import { pad, widthOf } from '../../terminal.ts'
import type { ViewInput } from './view-input.ts'

interface Sums {
  calls: number
  failed_calls: number
  usage: { input_tokens: number; cache_read_tokens: number; output_tokens: number; reasoning_tokens: number }
  cost_usd: number
}
interface Summary {
  balance_usd: number | null
  storage: { count: number; size_bytes: number }
  calls: { today: Sums; this_month: Sums; total: Sums }
}

/** Summary of `uk me usage` for a terminal: today, this month and in total. Its list of calls prints as a table. */
export function usageTable({ json, terminal }: ViewInput): string | null {
  if (!terminal.interactive || Array.isArray(json.data)) return null
  const { balance_usd, storage, calls } = json.data as Summary
  const rows = (
    [
      ['today', calls.today],
      ['this month', calls.this_month],
      ['total', calls.total],
    ] as const
  ).map(([name, sums]) => [
    name,
    count(sums.calls),
    count(sums.usage.input_tokens + sums.usage.cache_read_tokens),
    count(sums.usage.output_tokens + sums.usage.reasoning_tokens),
    usdSaid(sums.cost_usd),
  ])
  const all = [['', 'calls', 'tokens in', 'tokens out', 'cost'], ...rows]
  const widths = all[0]!.map((_, i) => Math.max(...all.map((cells) => widthOf(cells[i]!))))
  const lines = all.map((cells) =>
    cells.map((cell, i) => (i === 0 ? pad(cell, widths[i]!) : cell.padStart(widths[i]!))).join('  '),
  )
  const [head = '', ...rest] = lines
  const facts = [
    balance_usd === null ? '' : `balance     ${usdSaid(balance_usd)}`,
    `storage     ${bytesSaid(storage.size_bytes)} in ${count(storage.count)} items`,
  ]
  return `${[terminal.style('dim', head), ...rest, '', ...facts.filter(Boolean)].join('\n')}\n`
}

const count = (number: number): string => number.toLocaleString('en-US')
