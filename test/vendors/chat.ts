// The Chat Completions shape that OpenAI and OpenRouter share: message, deltas, usage.
import { id, tokens, type Plan } from './delivery/plan.ts'
import type { Json } from './vendor.ts'

export type Dialect = {
  /** The field for reasoning text; OpenAI itself has none. */
  reasoning?: (text: string, last: boolean) => Json
  /** Names of the request's custom (free text) tools. */
  custom?: Set<string>
}

export function messageOf(plan: Plan, dialect: Dialect): Json {
  const calls = toolCalls(plan, dialect)
  return {
    role: 'assistant',
    content: plan.text === '' && (calls.length > 0 || plan.refusal !== undefined) ? null : plan.text,
    refusal: plan.refusal ?? null,
    ...(plan.reasoning && dialect.reasoning ? dialect.reasoning(plan.reasoning, true) : {}),
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  }
}

/** Every delta of one choice, without the final empty one. */
export function deltasOf(plan: Plan, dialect: Dialect): Json[] {
  const calls = toolCalls(plan, dialect)
  const { reasoning } = dialect
  const thoughts = reasoning ? tokens(plan.reasoning) : []
  return [
    { role: 'assistant', content: calls.length > 0 && plan.text === '' ? null : '', refusal: null },
    ...thoughts.map((piece, n) => reasoning?.(piece, n === thoughts.length - 1) ?? {}),
    ...tokens(plan.text).map((piece) => ({ content: piece })),
    ...tokens(plan.refusal ?? '').map((piece) => ({ refusal: piece })),
    ...calls.flatMap(toolDeltas),
  ]
}

function toolCalls(plan: Plan, { custom }: Dialect): Json[] {
  return plan.tools.map((call) => ({
    id: call.id ?? id('call_'),
    ...(custom?.has(call.name)
      ? { type: 'custom', custom: { name: call.name, input: call.arguments } }
      : { type: 'function', function: { name: call.name, arguments: call.arguments } }),
  }))
}

/** The ID, type, and name come once; then only pieces of the arguments. */
function toolDeltas(call: Json, index: number): Json[] {
  const kind = call['type'] as 'custom' | 'function'
  const field = kind === 'custom' ? 'input' : 'arguments'
  const opening = { index, id: call['id'], type: kind, [kind]: { name: call[kind].name, [field]: '' } }
  const pieces = tokens(call[kind][field]).map((piece) => ({ index, [kind]: { [field]: piece } }))
  return [opening, ...pieces].map((one) => ({ tool_calls: [one] }))
}

export function finishOf(plan: Plan): string {
  if (plan.cut) return 'length'
  return plan.tools.length > 0 ? 'tool_calls' : 'stop'
}

export function usageOf({ usage }: Plan, choices = 1): Json {
  return {
    prompt_tokens: usage.input,
    completion_tokens: usage.output * choices,
    total_tokens: usage.input + usage.output * choices,
    prompt_tokens_details: { cached_tokens: usage.cached, cache_write_tokens: usage.cacheWrite, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: usage.reasoning * choices, audio_tokens: 0 },
  }
}

/** The function a request forces, if any. */
export function forcedTool({ tool_choice: choice, tools }: Json): string | undefined {
  if (choice === 'required') return tools?.[0]?.function?.name ?? tools?.[0]?.custom?.name
  if (typeof choice !== 'object' || choice === null) return undefined
  if (choice.type !== 'allowed_tools') return choice.function?.name ?? choice.custom?.name
  return choice.allowed_tools?.mode === 'required' ? choice.allowed_tools.tools?.[0]?.function?.name : undefined
}
