import type { Turn } from '../../turn.ts'
import { compact, type Json } from '../json.ts'
import { Losses } from '../losses.ts'
import { pairToolResults, toolsWithHistory } from '../pairing.ts'
import { strictLegal } from '../schema.ts'
import { type Encoded, mayReason, type Target } from '../target.ts'
import { fit, ToolNames } from '../tool-names.ts'
import { encodeMessages } from './encode-messages.ts'

/** The longest tool name and call id that OpenAI takes. */
const LONGEST_NAME = 64
const LONGEST_ID = 40
const MOST_STOPS = 4

/** Vendors of this shape that name a switch for thinking instead of an effort. */
const switches = new Set(['deepseek', 'zai', 'moonshotai'])
/** Vendors whose own models take `max_completion_tokens` only. */
const newLimit = new Set(['openai', 'azure'])
/** Vendors that pass sampling extras on. */
const extras = new Set(['openrouter', 'ollama', 'local', 'together', 'fireworks', 'deepinfra'])

/** A Turn as a chat completion request. A streamed one always asks for the usage. */
export function encode(turn: Turn, target: Target, { stream }: { stream: boolean }): Encoded {
  const losses = new Losses()
  const names = new ToolNames(LONGEST_NAME)
  const ids = (id: string) => (id.length <= LONGEST_ID ? id : fit(id, LONGEST_ID))
  const messages = pairToolResults(turn.messages)
  const tools = toolsWithHistory(turn)
  if (turn.n !== undefined && turn.n > 1) losses.add('n')
  if (tools.some(({ cache }) => cache !== undefined) && target.preset !== 'openrouter') losses.add('cache_control')
  const body: Json = compact({
    model: target.model,
    messages: encodeMessages(messages, { preset: target.preset, names, ids, losses }),
    ...limit(turn, target),
    ...sampling(turn, target, losses),
    ...reasoning(turn, target, losses),
    stop: stops(turn, losses),
    tools:
      tools.length === 0
        ? undefined
        : tools.map(({ name, description, parameters, strict }) => ({
            type: 'function',
            function: compact({ name: names.sent(name), description, parameters, strict }),
          })),
    tool_choice: tools.length === 0 ? undefined : toolChoice(turn, names),
    parallel_tool_calls: tools.length === 0 ? undefined : turn.parallel_tool_calls,
    response_format: responseFormat(turn),
    user: turn.user,
    ...(stream && { stream: true, stream_options: { include_usage: true } }),
    ...(target.preset === 'openrouter' && { usage: { include: true } }),
  })
  return { body, losses: losses.all(), renamed: names.renamed }
}

function limit({ max_output_tokens: wanted }: Turn, { maxOutputTokens: most, preset }: Target): Json {
  if (wanted === undefined) return {}
  const tokens = most === null ? wanted : Math.min(wanted, most)
  return preset !== null && newLimit.has(preset) ? { max_completion_tokens: tokens } : { max_tokens: tokens }
}

/** OpenAI's reasoning models refuse sampling fields unless they are told not to reason. */
const refusesSampling = (turn: Turn, { preset, capabilities }: Target): boolean =>
  preset !== null && newLimit.has(preset) && capabilities.includes('reasoning') && turn.reasoning?.effort !== 'none'

function sampling(turn: Turn, target: Target, losses: Losses): Json {
  const { temperature, top_p, top_k, seed } = turn
  const takesTopK = target.preset !== null && extras.has(target.preset)
  if (top_k !== undefined && !takesTopK) losses.add('top_k')
  const kept = { seed, ...(takesTopK && { top_k }) }
  if (!refusesSampling(turn, target)) return { ...kept, temperature, top_p }
  if (temperature !== undefined && temperature !== 1) losses.add('temperature')
  if (top_p !== undefined && top_p !== 1) losses.add('top_p')
  return kept
}

function stops({ stop }: Turn, losses: Losses): string[] | undefined {
  if (stop === undefined || stop.length === 0) return undefined
  if (stop.length > MOST_STOPS) losses.add('stop')
  return stop.slice(0, MOST_STOPS)
}

function reasoning({ reasoning: wanted }: Turn, target: Target, losses: Losses): Json {
  if (wanted === undefined) return {}
  const { effort, max_tokens: budget } = wanted
  if (!mayReason(target)) {
    if (effort !== 'none') losses.add('reasoning')
    return {}
  }
  if (target.preset === 'openrouter') {
    // The vendor takes one of the two.
    return { reasoning: budget === undefined ? wanted : compact({ ...wanted, effort: undefined }) }
  }
  const word = effort ?? (budget === undefined ? undefined : effortOf(budget))
  if (word === undefined) return {}
  if (target.preset !== null && switches.has(target.preset)) {
    return { thinking: { type: word === 'none' ? 'disabled' : 'enabled' } }
  }
  return { reasoning_effort: word }
}

/** Thinking budgets in bands, where a vendor knows only efforts. */
function effortOf(budget: number): string {
  if (budget === 0) return 'none'
  if (budget <= 4096) return 'low'
  return budget <= 16_384 ? 'medium' : 'high'
}

function toolChoice({ tool_choice: choice }: Turn, names: ToolNames): unknown {
  return typeof choice === 'object' ? { type: 'function', function: { name: names.sent(choice.name) } } : choice
}

function responseFormat({ response_format: format }: Turn): Json | undefined {
  if (format?.type !== 'json_schema') return format
  const { name, schema, strict } = format
  return {
    type: 'json_schema',
    json_schema: { name: fit(name, LONGEST_NAME), schema, strict: strict ?? ('type' in schema && strictLegal(schema)) },
  }
}
