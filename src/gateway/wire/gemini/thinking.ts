import type { CanonicalRequest } from '../../model/canonical-request.ts'
import { compact, type Json } from '../../model/json.ts'
import type { Losses } from '../shared/losses.ts'
import { MIN_THOUGHT, type Quirks } from './quirks.ts'

/** As at OpenRouter: the share of the output for each effort. */
const shares = { minimal: 0.1, low: 0.2, medium: 0.5, high: 0.8, xhigh: 0.95, max: 0.95 }
const USUAL_OUTPUT = 32_768

/** A level, or a budget, which counts as output. */
export function thinkingOf(canonical: CanonicalRequest, quirks: Quirks, losses: Losses): Json | undefined {
  const requested = canonical.reasoning
  if (requested === undefined) return undefined
  const off = requested.effort === 'none' || requested.max_tokens === 0
  const thoughts = off || requested.exclude === true ? {} : { includeThoughts: true }
  if (quirks.levels !== null) {
    if (off) losses.add('reasoning')
    const level = levelOf(canonical, off)
    if (level === undefined) return Object.keys(thoughts).length > 0 ? thoughts : undefined
    const thinkingLevel = quirks.levels.find((one) => one === level) ?? quirks.levels[0]
    return compact({ thinkingLevel, ...thoughts })
  }
  if (off) {
    if (quirks.leastBudget > 0) losses.add('reasoning')
    return { thinkingBudget: quirks.leastBudget }
  }
  const budget = requested.max_tokens ?? shareOf(canonical)
  if (budget === undefined) return Object.keys(thoughts).length > 0 ? thoughts : undefined
  const most = Math.min(quirks.mostBudget, canonical.max_output_tokens ?? Infinity)
  return { thinkingBudget: Math.min(Math.max(budget, quirks.leastBudget, MIN_THOUGHT), most), ...thoughts }
}

function levelOf({ reasoning, max_output_tokens: limit }: CanonicalRequest, off: boolean): string | undefined {
  if (off) return 'minimal'
  const { effort, max_tokens: budget } = reasoning!
  if (effort !== undefined) return effort === 'xhigh' || effort === 'max' ? 'high' : effort
  if (budget === undefined) return undefined
  const share = budget / Math.max(1, limit ?? USUAL_OUTPUT)
  if (share <= shares.low) return 'low'
  return share <= shares.medium ? 'medium' : 'high'
}

function shareOf({ reasoning, max_output_tokens: limit }: CanonicalRequest): number | undefined {
  const { effort } = reasoning!
  return effort === undefined || effort === 'none' ? undefined : Math.floor(shares[effort] * (limit ?? USUAL_OUTPUT))
}
