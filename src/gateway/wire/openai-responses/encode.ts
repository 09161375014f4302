import type { CanonicalRequest } from '../../model/canonical-request.ts'
import { compact, type Json } from '../../model/json.ts'
import { effortOfBudget } from '../shared/effort.ts'
import { raisedLimit } from '../shared/least-output.ts'
import { Losses } from '../shared/losses.ts'
import { pairToolResults, toolsWithHistory } from '../shared/pairing.ts'
import { lostModalities, losePenalties } from '../shared/sampling.ts'
import { loseFurther, loseNames, sendFurther } from '../shared/openai-fields.ts'
import { strictLegal } from '../shared/tools/schema.ts'
import { type Encoded, mayReason, type Target } from '../shared/target.ts'
import { fitName, ToolNames } from '../shared/tools/tool-names.ts'
import { openaiLimits, toolSchema } from '../shared/tools/tool-schema.ts'
import { encodeInput } from './encode-input.ts'

const LONGEST_NAME = 64
const LONGEST_ID = 64
const FURTHER = ['metadata', 'prompt_cache_options', 'prompt_cache_retention'] as const

/** Nothing is stored at the vendor: content that the model wants back comes sealed. */
export function encode(canonical: CanonicalRequest, target: Target, { stream }: { stream: boolean }): Encoded {
  const losses = new Losses()
  for (const name of lostModalities(canonical)) losses.add(name)
  const names = new ToolNames(LONGEST_NAME, canonical.tools)
  const ids = (id: string) => (id.length <= LONGEST_ID ? id : fitName(id, LONGEST_ID))
  const tools = toolsWithHistory(canonical)
  const reasons = target.capabilities.includes('reasoning')
  if (canonical.n !== undefined && canonical.n > 1) losses.add('n')
  if (canonical.cache !== undefined) losses.add('cache_control')
  if (canonical.seed !== undefined) losses.add('seed')
  if (canonical.top_k !== undefined) losses.add('top_k')
  losePenalties(canonical, losses)
  loseFurther(canonical, losses, FURTHER)
  loseNames(canonical, losses)
  if (tools.some(({ cache }) => cache !== undefined)) losses.add('cache_control')
  const body: Json = compact({
    model: target.model,
    input: encodeInput(pairToolResults(canonical.messages), { names, ids, losses }),
    max_output_tokens: limit(canonical, target, losses),
    ...sampling(canonical, target, losses),
    reasoning: reasoning(canonical, target, losses),
    tools:
      tools.length === 0
        ? undefined
        : tools.map(({ name, description, parameters: schema, strict }) => {
            const parameters = toolSchema(schema, openaiLimits, losses)
            const isStrict = strict === true && strictLegal(parameters)
            if (strict === true && !isStrict) losses.add('tools.strict')
            // If omitted, `strict` defaults to true there.
            return compact({ type: 'function', name: names.sent(name), description, parameters, strict: isStrict })
          }),
    tool_choice: tools.length === 0 ? undefined : toolChoice(canonical, names),
    parallel_tool_calls: tools.length === 0 ? undefined : canonical.parallel_tool_calls,
    text: text(canonical),
    prompt_cache_key: canonical.cache_key,
    ...sendFurther(canonical, FURTHER),
    user: canonical.user,
    store: false,
    include: reasons ? ['reasoning.encrypted_content'] : undefined,
    ...(stream && { stream: true }),
  })
  return { body, losses: losses.all(), renamed: names.renamed, watched: canonical.stop ?? [] }
}

function limit(
  { max_output_tokens: requested }: CanonicalRequest,
  { maxOutputTokens: most }: Target,
  losses: Losses,
): number | undefined {
  if (requested === undefined) return undefined
  const limit = raisedLimit(Math.max(1, requested), 'openai-responses')
  if (limit > requested) losses.add('max_output_tokens')
  return most === null ? limit : Math.min(limit, most)
}

function sampling(canonical: CanonicalRequest, { provider, capabilities }: Target, losses: Losses): Json {
  const { temperature, top_p } = canonical
  const refuses = provider?.fixedSampling === true && capabilities.includes('reasoning')
  if (!refuses || canonical.reasoning?.effort === 'none') return { temperature, top_p }
  if (temperature !== undefined && temperature !== 1) losses.add('temperature')
  if (top_p !== undefined && top_p !== 1) losses.add('top_p')
  return {}
}

function reasoning({ reasoning: requested }: CanonicalRequest, target: Target, losses: Losses): Json | undefined {
  if (requested === undefined) return undefined
  const effort =
    requested.effort ?? (requested.max_tokens === undefined ? undefined : effortOfBudget(requested.max_tokens))
  if (!mayReason(target)) {
    if (effort !== 'none') losses.add('reasoning')
    return undefined
  }
  return compact({ effort, summary: requested.exclude || effort === 'none' ? undefined : 'auto' })
}

const toolChoice = ({ tool_choice: choice }: CanonicalRequest, names: ToolNames): unknown =>
  typeof choice === 'object' ? { type: 'function', name: names.sent(choice.name) } : choice

function text({ response_format: format, verbosity }: CanonicalRequest): Json | undefined {
  if (format === undefined) return verbosity === undefined ? undefined : { verbosity }
  if (format.type !== 'json_schema') return compact({ format, verbosity })
  const { type, name, schema, strict } = format
  return compact({
    verbosity,
    format: {
      type,
      name: fitName(name, LONGEST_NAME),
      schema,
      strict: strict ?? ('type' in schema && strictLegal(schema)),
    },
  })
}
