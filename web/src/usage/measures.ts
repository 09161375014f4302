import type { Usage } from './queries.ts'
import { short, usd } from '../ui/text/format.ts'
import type { View } from '../shared/views/usage.ts'

type Sums = Usage['total']

export const measures: Record<
  View['measure'],
  { label: string; of: (sums: Sums) => number; say: (value: number) => string }
> = {
  cost: { label: 'Cost', of: ({ cost_usd }) => cost_usd, say: usd },
  tokens: { label: 'Tokens', of: ({ usage }) => usage.total_tokens, say: short },
  calls: { label: 'Calls', of: ({ calls }) => calls, say: short },
}
