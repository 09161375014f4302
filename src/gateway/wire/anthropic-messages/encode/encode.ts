import { createHash } from 'node:crypto'
import type { CanonicalRequest } from '../../../model/canonical-request.ts'
import { compact, type Json } from '../../../model/json.ts'
import { Losses } from '../../shared/losses.ts'
import { pairToolResults, toolsWithHistory } from '../../shared/pairing.ts'
import { lostModalities, losePenalties, loseVerbosity } from '../../shared/sampling.ts'
import { loseDetail, loseFurther, loseNames } from '../../shared/openai-fields.ts'
import { closedSchema } from '../../shared/tools/schema.ts'
import { type Encoded, mayReason, type Target } from '../../shared/target.ts'
import { fitName, ToolNames } from '../../shared/tools/tool-names.ts'
import { anthropicLimits, toolSchema } from '../../shared/tools/tool-schema.ts'
import { keepLastMarks, orderMarks } from '../cache.ts'
import { block, encodeMessages, markOf } from './messages.ts'
import { type Quirks, quirksOf } from './quirks.ts'
import { thinkingOf } from './thinking.ts'

const LONGEST_NAME = 128
const LONGEST_ID = 128
/** Accepted by every model of this shape. */
const USUAL_LIMIT = 8192

/**
 * Refuses (`unsupported_model`) a file that the vendor doesn't accept, because leaving it out would change the
 * question.
 */
export function encode(canonical: CanonicalRequest, target: Target, { stream }: { stream: boolean }): Encoded {
  const losses = new Losses()
  for (const name of lostModalities(canonical)) losses.add(name)
  const names = new ToolNames(LONGEST_NAME, canonical.tools)
  const quirks = quirksOf(target)
  const rules = { names, ids: (id: string) => fitName(id, LONGEST_ID), losses, midSystem: quirks.midSystem }
  const most = target.maxOutputTokens ?? USUAL_LIMIT
  const maxTokens =
    target.maxOutputTokens === null
      ? (canonical.max_output_tokens ?? most)
      : Math.min(canonical.max_output_tokens ?? most, most)
  const { system, messages } = encodeMessages(pairToolResults(canonical.messages), rules)
  const tools = encodeTools(canonical, names, quirks, losses)
  const { thinking, effort, on } = mayReason(target)
    ? thinkingOf(canonical, maxTokens, quirks, losses)
    : withoutThinking(canonical, losses)
  if (canonical.response_format?.type === 'json_object') {
    losses.add('response_format')
    system.push({ type: 'text', text: 'Answer with a single JSON object and nothing else.' })
  }
  const cacheControl = markOf(canonical.cache)
  const blocks = [tools, system, messages.flatMap(({ content }) => content)]
  if (!keepLastMarks(blocks, cacheControl !== undefined)) losses.add('cache_control')
  if (!orderMarks(blocks, cacheControl)) losses.add('cache_control')
  if (canonical.seed !== undefined) losses.add('seed')
  if (canonical.n !== undefined && canonical.n > 1) losses.add('n')
  losePenalties(canonical, losses)
  loseVerbosity(canonical, losses)
  loseFurther(canonical, losses)
  loseNames(canonical, losses)
  loseDetail(canonical, losses)
  const format = formatOf(canonical, losses)
  const body: Json = compact({
    model: target.model,
    max_tokens: maxTokens,
    system: system.length > 0 ? system : undefined,
    messages,
    ...sampling(canonical, quirks, on, losses),
    stop_sequences: stops(canonical),
    tools: tools.length > 0 ? tools : undefined,
    tool_choice: tools.length > 0 ? toolChoice(canonical, names) : undefined,
    thinking,
    output_config: effort === undefined && format === undefined ? undefined : compact({ effort, format }),
    // The vendor asks for no personal data: the user's name is hashed, always to the same value.
    metadata:
      canonical.user === undefined ? undefined : { user_id: createHash('sha256').update(canonical.user).digest('hex') },
    cache_control: cacheControl,
    stream: stream || undefined,
  })
  return { body, losses: losses.all(), renamed: names.renamed }
}

function withoutThinking(
  { reasoning }: CanonicalRequest,
  losses: Losses,
): { thinking?: Json; effort?: string; on: boolean } {
  if (reasoning !== undefined && reasoning.effort !== 'none') losses.add('reasoning')
  return { on: false }
}

function sampling(canonical: CanonicalRequest, { noSampling }: Quirks, thinks: boolean, losses: Losses): Json {
  const { temperature, top_p, top_k } = canonical
  const lose = (name: 'temperature' | 'top_p' | 'top_k', same?: number) => {
    if (canonical[name] !== undefined && canonical[name] !== same) losses.add(name)
  }
  if (noSampling || thinks) {
    lose('temperature', 1)
    lose('top_p', 1)
    lose('top_k')
    return {}
  }
  if (temperature !== undefined && temperature > 1) losses.add('temperature')
  // Setting both is rejected; clients that set both mean the temperature.
  if (temperature !== undefined) lose('top_p', 1)
  return {
    temperature: temperature === undefined ? undefined : Math.min(1, temperature),
    top_p: temperature === undefined ? top_p : undefined,
    top_k,
  }
}

function stops({ stop }: CanonicalRequest): string[] | undefined {
  const stopSequences = stop?.filter((words) => words.trim() !== '') ?? []
  return stopSequences.length > 0 ? stopSequences : undefined
}

function encodeTools(canonical: CanonicalRequest, names: ToolNames, { strictTools }: Quirks, losses: Losses): Json[] {
  return toolsWithHistory(canonical).map(({ name, description, parameters, strict, cache }) => {
    if (strict === true && !strictTools) losses.add('tools.strict')
    return block(
      compact({
        name: names.sent(name),
        description,
        input_schema: toolSchema(parameters, anthropicLimits, losses),
        strict: strictTools ? strict : undefined,
      }),
      cache,
    )
  })
}

function toolChoice(
  { tool_choice: choice, parallel_tool_calls: parallel }: CanonicalRequest,
  names: ToolNames,
): Json | undefined {
  if (choice === 'none') return { type: 'none' }
  const one = parallel === false ? { disable_parallel_tool_use: true } : {}
  if (choice === undefined) return parallel === false ? { type: 'auto', ...one } : undefined
  if (typeof choice === 'object') return { type: 'tool', name: names.sent(choice.name), ...one }
  return { type: choice === 'required' ? 'any' : 'auto', ...one }
}

function formatOf({ response_format: format }: CanonicalRequest, losses: Losses): Json | undefined {
  return format?.type === 'json_schema'
    ? { type: 'json_schema', schema: closedSchema(format.schema, losses) }
    : undefined
}
