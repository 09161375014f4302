import type { CanonicalRequest, CanonicalMessage } from '../../../model/canonical-request.ts'
import { compact, type Json } from '../../../model/json.ts'
import type { Effort } from '../../shared/effort.ts'
import { Losses } from '../../shared/losses.ts'
import type { Quirks } from './quirks.ts'
import { isAnthropic } from '../signature.ts'

const MIN_BUDGET = 1024
/** As at OpenRouter: the share of the output for each effort. */
const shares = { minimal: 0.1, low: 0.2, medium: 0.5, high: 0.8, xhigh: 0.95, max: 0.95 }

export interface Thinking {
  thinking?: Json
  effort?: string
  /** Rules out sampling fields and forced tools. */
  on: boolean
}

/**
 * The client's output limit is never raised for a budget, because that amount of money is reserved: a budget that
 * doesn't fit is lowered, or is a loss. Forced tools, and a history that a thinking model would reject, take
 * precedence.
 */
export function thinkingOf(canonical: CanonicalRequest, maxTokens: number, quirks: Quirks, losses: Losses): Thinking {
  const requested = canonical.reasoning
  if (requested === undefined || (requested.effort === undefined && requested.max_tokens === undefined))
    return { on: quirks.alwaysThinks }
  if (requested.effort === 'none' || requested.max_tokens === 0) {
    if (!quirks.alwaysThinks) return { thinking: { type: 'disabled' }, on: false }
    losses.add('reasoning')
    return { effort: 'low', on: true }
  }
  const isForced = canonical.tool_choice === 'required' || typeof canonical.tool_choice === 'object'
  if (!quirks.alwaysThinks && (isForced || (!quirks.adaptive && unsignedLoop(canonical.messages)))) {
    losses.add('reasoning')
    return { on: false }
  }
  if (isForced) {
    // The model always thinks, but an explicit request for it beside a forced tool is rejected.
    losses.add('reasoning')
    return { on: true }
  }
  if (quirks.adaptive) {
    const effort = effortWord(requested.effort ?? effortOf(requested.max_tokens!, maxTokens), quirks)
    return { thinking: { type: 'adaptive', display: requested.exclude ? 'omitted' : 'summarized' }, effort, on: true }
  }
  const requestedBudget =
    requested.max_tokens ?? Math.floor(shares[requested.effort as Exclude<Effort, 'none'>] * maxTokens)
  const budget = Math.min(Math.max(requestedBudget, MIN_BUDGET), maxTokens - 1)
  if (budget < MIN_BUDGET) {
    losses.add('reasoning')
    return { on: false }
  }
  // It always shows its thinking, and wants it back.
  if (requested.exclude === true) losses.add('reasoning.exclude')
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

/** True if the model is in a tool loop that started without thinking it would recognize as its own. */
function unsignedLoop(messages: CanonicalMessage[]): boolean {
  if (messages.at(-1)?.role !== 'tool') return false
  const caller = messages.findLast(({ role }) => role === 'assistant')
  return caller !== undefined && !caller.content.some((part) => part.type === 'reasoning' && isAnthropic(part))
}
