import type { CanonicalRequest } from '../../model/canonical-request.ts'

export type Effort = NonNullable<NonNullable<CanonicalRequest['reasoning']>['effort']>

export function effortOfBudget(tokens: number): Effort {
  if (tokens === 0) return 'none'
  if (tokens <= 4096) return 'low'
  return tokens <= 16_384 ? 'medium' : 'high'
}

export const efforts: readonly Effort[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']

export const isEffort = (word: unknown): word is Effort => efforts.includes(word as Effort)
