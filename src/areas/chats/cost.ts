import { type Usage, usageOf } from '#kernel/usage.ts'

const EMPTY: Usage = usageOf({ requests: 0 })

/** Both together, bucket by bucket. */
export function addUsage(one: Usage | null, other: Usage | null): Usage | null {
  if (one === null || other === null) return one ?? other
  return Object.fromEntries(
    Object.keys(EMPTY).map((bucket) => [bucket, one[bucket as keyof Usage] + other[bucket as keyof Usage]]),
  ) as unknown as Usage
}

export const sumUsage = (all: Iterable<Usage | null>): Usage => [...all].reduce<Usage | null>(addUsage, null) ?? EMPTY
