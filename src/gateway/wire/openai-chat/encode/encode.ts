import { createHash } from 'node:crypto'
import type { CanonicalRequest } from '../../../model/canonical-request.ts'
import { compact, type Json } from '../../../model/json.ts'
import { effortOfBudget } from '../../shared/effort.ts'
import { Losses } from '../../shared/losses.ts'
import { pairToolResults, toolsWithHistory } from '../../shared/pairing.ts'
import { losePenalties, loseVerbosity } from '../../shared/sampling.ts'
import { type Further, loseFurther, sendFurther } from '../../shared/openai-fields.ts'
import { strictLegal } from '../../shared/tools/schema.ts'
import { type Encoded, mayReason, type Target } from '../../shared/target.ts'
import { fitName, ToolNames } from '../../shared/tools/tool-names.ts'
import { openaiLimits, toolSchema } from '../../shared/tools/tool-schema.ts'
import { inOrder } from './order.ts'
import { encodeMessages, marksOf } from './messages.ts'
import { effortFor, limitsOf, quirksOf } from '../quirks.ts'
import type { ChatQuirks } from '../../shared/quirks.ts'

const LONGEST_NAME = 64
const LONGEST_ID = 40
const MAX_STOPS = 4

/** Streams always request usage. */
export function encode(canonical: CanonicalRequest, target: Target, { stream }: { stream: boolean }): Encoded {
  const losses = new Losses()
  const names = new ToolNames(LONGEST_NAME, canonical.tools)
  const quirks = quirksOf(target)
  const ids =
    quirks.callIds === 'nine' ? nine : (id: string) => (id.length <= LONGEST_ID ? id : fitName(id, LONGEST_ID))
  const messages = pairToolResults(canonical.messages)
  const tools = toolsWithHistory(canonical)
  if (canonical.n !== undefined && canonical.n > 1) losses.add('n')
  const hasMark = canonical.cache !== undefined || tools.some(({ cache }) => cache !== undefined)
  if (hasMark && !quirks.openrouter) losses.add('cache_control')
  if (tools.some(({ strict }) => strict === true) && !quirks.strict) losses.add('tools.strict')
  loseFurther(canonical, losses, furtherOf(quirks))
  // OpenAI's reasoning models accept no stop sequences.
  const most = quirks.fixedSampling && target.capabilities.includes('reasoning') ? 0 : MAX_STOPS
  const stops = canonical.stop?.slice(0, most) ?? []
  const body: Json = compact({
    model: target.model,
    messages: inOrder(
      encodeMessages(messages, {
        quirks,
        names,
        ids,
        losses,
        signsCalls: /gemini/i.test(target.model) && !quirks.openrouter,
      }),
      quirks.order,
    ),
    ...limit(canonical, target, quirks),
    ...sampling(canonical, target, quirks, losses),
    ...reasoning(canonical, target, quirks, losses),
    stop: stops.length > 0 ? stops : undefined,
    tools:
      tools.length === 0
        ? undefined
        : tools.map(({ name, description, parameters, strict, cache }) => {
            const schema = toolSchema(parameters, openaiLimits, losses)
            const isStrict = strict === true && quirks.openai && !strictLegal(schema) ? false : strict
            if (isStrict !== strict) losses.add('tools.strict')
            return {
              type: 'function',
              function: compact({
                name: names.sent(name),
                description,
                parameters: schema,
                strict: quirks.strict ? isStrict : undefined,
              }),
              ...(quirks.openrouter && marksOf(cache)),
            }
          }),
    tool_choice: tools.length === 0 ? undefined : toolChoice(canonical, names),
    parallel_tool_calls: tools.length === 0 ? undefined : canonical.parallel_tool_calls,
    response_format: responseFormat(canonical, quirks),
    modalities: canonical.modalities,
    audio: canonical.audio,
    image_config: canonical.image_config,
    user: canonical.user,
    ...(quirks.openrouter && marksOf(canonical.cache)),
    ...(stream && { stream: true }),
    ...(stream && quirks.streamOptions && { stream_options: { include_usage: true } }),
    ...(quirks.openrouter && { usage: { include: true } }),
  })
  return { body, losses: losses.all(), renamed: names.renamed, watched: canonical.stop?.slice(most) ?? [] }
}

/** Always the same for the same ID. */
const nine = (id: string): string =>
  /^[a-zA-Z0-9]{9}$/.test(id) ? id : createHash('sha256').update(id).digest('hex').slice(0, 9)

/** OpenAI accepts `metadata` in Chat Completions only with `store`. */
function furtherOf({ openai, openrouter }: ChatQuirks): readonly Further[] {
  if (openrouter) return ['metadata']
  return openai ? ['prompt_cache_options', 'prompt_cache_retention'] : []
}

function limit({ max_output_tokens: requested }: CanonicalRequest, target: Target, quirks: ChatQuirks): Json {
  const { maxOutputTokens: most, capabilities } = target
  if (requested === undefined) return {}
  return { [limitsOf(quirks, capabilities)[0]!]: most === null ? requested : Math.min(requested, most) }
}

/** OpenAI's reasoning models reject sampling fields unless reasoning is turned off. */
const refusesSampling = (canonical: CanonicalRequest, { capabilities }: Target, quirks: ChatQuirks): boolean =>
  quirks.fixedSampling && capabilities.includes('reasoning') && canonical.reasoning?.effort !== 'none'

function sampling(canonical: CanonicalRequest, target: Target, quirks: ChatQuirks, losses: Losses): Json {
  const { temperature, top_p, top_k, seed, frequency_penalty, presence_penalty, verbosity, cache_key } = canonical
  if (top_k !== undefined && !quirks.topK) losses.add('top_k')
  if (!quirks.openai) loseVerbosity(canonical, losses)
  const own = {
    ...(quirks.openai && { verbosity }),
    ...((quirks.openai || quirks.openrouter) && { prompt_cache_key: cache_key }),
    ...sendFurther(canonical, furtherOf(quirks)),
  }
  const supported = { seed, ...own, ...(quirks.topK && { top_k }) }
  if (!refusesSampling(canonical, target, quirks))
    return { ...supported, temperature, top_p, frequency_penalty, presence_penalty }
  losePenalties(canonical, losses)
  if (temperature !== undefined && temperature !== 1) losses.add('temperature')
  if (top_p !== undefined && top_p !== 1) losses.add('top_p')
  return supported
}

function reasoning(
  { reasoning: requested }: CanonicalRequest,
  target: Target,
  quirks: ChatQuirks,
  losses: Losses,
): Json {
  if (requested === undefined) return {}
  const { effort, max_tokens: budget } = requested
  if (!mayReason(target)) {
    if (effort !== 'none') losses.add('reasoning')
    return {}
  }
  if (quirks.reasoning === 'object')
    return { reasoning: budget === undefined ? requested : compact({ ...requested, effort: undefined }) }
  const word = effort ?? (budget === undefined ? undefined : effortOfBudget(budget))
  if (word === undefined) return {}
  const on = word !== 'none'
  if (quirks.reasoning === 'enabled') return { reasoning: { enabled: on } }
  const thinking = { type: on ? 'enabled' : 'disabled' }
  if (quirks.reasoning === 'switch') return { thinking }
  if (quirks.reasoning === 'thinking')
    return on ? { thinking, reasoning_effort: effortFor(word, quirks.efforts) } : { thinking }
  const supportedEffort = effortFor(word, quirks.efforts)
  if (supportedEffort === null) losses.add('reasoning')
  return supportedEffort === null ? {} : { reasoning_effort: supportedEffort }
}

function toolChoice({ tool_choice: choice }: CanonicalRequest, names: ToolNames): unknown {
  return typeof choice === 'object' ? { type: 'function', function: { name: names.sent(choice.name) } } : choice
}

function responseFormat({ response_format: format }: CanonicalRequest, quirks: ChatQuirks): Json | undefined {
  if (format?.type !== 'json_schema') return format
  const { name, schema, strict } = format
  const schemaWithName = { name: fitName(name, LONGEST_NAME), schema }
  return {
    type: 'json_schema',
    json_schema: quirks.strict
      ? { ...schemaWithName, strict: strict ?? ('type' in schema && strictLegal(schema)) }
      : schemaWithName,
  }
}
