import { type Usage, usageOf } from '#kernel/usage.ts'

const EMPTY: Usage = usageOf({ requests: 0 })
const BUCKETS = Object.keys(EMPTY) as (keyof Usage)[]

/** Both together, bucket by bucket. */
export function addUsage(one: Usage | null, other: Usage | null): Usage | null {
  if (one === null || other === null) return one ?? other
  const sum = { ...EMPTY }
  for (const bucket of BUCKETS) sum[bucket] = one[bucket] + other[bucket]
  return sum
}

export const sumUsage = (all: Iterable<Usage | null>): Usage => [...all].reduce<Usage | null>(addUsage, null) ?? EMPTY
