import type { CanonicalRequest } from '../../model/canonical-request.ts'
import { compact, type Json } from '../../model/json.ts'
import type { Losses } from '../shared/losses.ts'
import { LEAST_THOUGHT, type Quirks } from './quirks.ts'

/** The share of the output that an effort may think, as OpenRouter has it. */
const shares = { minimal: 0.1, low: 0.2, medium: 0.5, high: 0.8, xhigh: 0.95, max: 0.95 }
/** Of this where the client sets no limit. */
const USUAL_OUTPUT = 32_768

/** `thinkingConfig` for a model: a level, or a budget, which counts as output. */
export function thinkingOf(canonical: CanonicalRequest, quirks: Quirks, losses: Losses): Json | undefined {
  const wanted = canonical.reasoning
  if (wanted === undefined) return undefined
  const off = wanted.effort === 'none' || wanted.max_tokens === 0
  const shown = off || wanted.exclude === true ? {} : { includeThoughts: true }
  if (quirks.levels !== null) {
    // These always think.
    if (off) losses.add('reasoning')
    const level = levelOf(canonical, off)
    if (level === undefined) return Object.keys(shown).length > 0 ? shown : undefined
    const thinkingLevel = quirks.levels.find((one) => one === level) ?? quirks.levels[0]
    return compact({ thinkingLevel, ...shown })
  }
  if (off) {
    if (quirks.leastBudget > 0) losses.add('reasoning')
    return { thinkingBudget: quirks.leastBudget }
  }
  const budget = wanted.max_tokens ?? shareOf(canonical)
  if (budget === undefined) return Object.keys(shown).length > 0 ? shown : undefined
  const most = Math.min(quirks.mostBudget, canonical.max_output_tokens ?? Infinity)
  return { thinkingBudget: Math.min(Math.max(budget, quirks.leastBudget, LEAST_THOUGHT), most), ...shown }
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
