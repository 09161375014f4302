import type { CanonicalRequest, CanonicalMessage } from '../../../model/canonical-request.ts'
import { compact, type Json } from '../../../model/json.ts'
import type { Effort } from '../../shared/effort.ts'
import { Losses } from '../../shared/losses.ts'
import type { Quirks } from './quirks.ts'
import { isAnthropic } from '../signature.ts'

const LEAST_BUDGET = 1024
/** The share of the output that an effort may think, as OpenRouter has it. */
const shares = { minimal: 0.1, low: 0.2, medium: 0.5, high: 0.8, xhigh: 0.95, max: 0.95 }

export interface Thinking {
  thinking?: Json
  effort?: string
  /** The model thinks, so sampling and forced tools are out. */
  on: boolean
}

/**
 * `thinking` and the effort for a model. The client's output limit is never raised for a budget, because money was put
 * aside for it: a budget that does not fit is lowered, one that cannot be is a loss. Forced tools and history that a
 * thinking model would refuse go before thinking.
 */
export function thinkingOf(canonical: CanonicalRequest, maxTokens: number, quirks: Quirks, losses: Losses): Thinking {
  const wanted = canonical.reasoning
  if (wanted === undefined || (wanted.effort === undefined && wanted.max_tokens === undefined))
    return { on: quirks.alwaysThinks }
  if (wanted.effort === 'none' || wanted.max_tokens === 0) {
    if (!quirks.alwaysThinks) return { thinking: { type: 'disabled' }, on: false }
    losses.add('reasoning')
    return { effort: 'low', on: true }
  }
  const forced = canonical.tool_choice === 'required' || typeof canonical.tool_choice === 'object'
  if (!quirks.alwaysThinks && (forced || (!quirks.adaptive && unsignedLoop(canonical.messages)))) {
    losses.add('reasoning')
    return { on: false }
  }
  if (forced) {
    // It thinks as it likes; to ask for it in so many words beside a forced tool is refused.
    losses.add('reasoning')
    return { on: true }
  }
  if (quirks.adaptive) {
    const effort = effortWord(wanted.effort ?? effortOf(wanted.max_tokens!, maxTokens), quirks)
    return { thinking: { type: 'adaptive', display: wanted.exclude ? 'omitted' : 'summarized' }, effort, on: true }
  }
  const asked = wanted.max_tokens ?? Math.floor(shares[wanted.effort as Exclude<Effort, 'none'>] * maxTokens)
  const budget = Math.min(Math.max(asked, LEAST_BUDGET), maxTokens - 1)
  if (budget < LEAST_BUDGET) {
    losses.add('reasoning')
    return { on: false }
  }
  // It shows what it thinks, and wants it back.
  if (wanted.exclude === true) losses.add('reasoning.exclude')
  return { thinking: compact({ type: 'enabled', budget_tokens: budget }), on: true }
}

function effortWord(effort: Effort, { xhigh }: Quirks): string {
  if (effort === 'minimal' || effort === 'none') return 'low'
  return effort === 'xhigh' && !xhigh ? 'max' : effort
}

function effortOf(budget: number, maxTokens: number): Effort {
  const share = budget / Math.max(1, maxTokens)
  if (share <= shares.low) return 'low'
  if (share <= shares.medium) return 'medium'
  return share <= shares.high ? 'high' : 'max'
}

/** Whether the model is in the middle of using tools, and began without thinking that it would recognise as its own. */
function unsignedLoop(messages: CanonicalMessage[]): boolean {
  if (messages.at(-1)?.role !== 'tool') return false
  const caller = messages.findLast(({ role }) => role === 'assistant')
  return caller !== undefined && !caller.content.some((part) => part.type === 'reasoning' && isAnthropic(part))
}
