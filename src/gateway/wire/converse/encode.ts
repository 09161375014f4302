import type { CanonicalRequest } from '../../model/canonical-request.ts'
import { compact, type Json } from '../../model/json.ts'
import { Losses } from '../shared/losses.ts'
import { pairToolResults, toolsWithHistory } from '../shared/pairing.ts'
import { lostModalities, losePenalties, loseVerbosity } from '../shared/sampling.ts'
import { loseDetail, loseFurther, loseNames } from '../shared/openai-fields.ts'
import type { Encoded, Target } from '../shared/target.ts'
import { converseLimits, toolSchema } from '../shared/tools/tool-schema.ts'
import { fitName, ToolNames } from '../shared/tools/tool-names.ts'
import { encodeMessages } from './encode-messages.ts'

const LONGEST_NAME = 64
const LONGEST_ID = 64

/** A CanonicalRequest as a request of Bedrock's Converse, which serves the models of all houses. The model stands in the path. */
export function encode(canonical: CanonicalRequest, target: Target): Encoded {
  const losses = new Losses()
  for (const name of lostModalities(canonical)) losses.add(name)
  const names = new ToolNames(LONGEST_NAME, canonical.tools)
  const ids = (id: string): string => fitName(id, LONGEST_ID)
  const { system, messages } = encodeMessages(pairToolResults(canonical.messages), {
    names,
    ids,
    losses,
    documents: new Map(),
  })
  for (const name of ['seed', 'top_k', 'user'] as const) if (canonical[name] !== undefined) losses.add(name)
  if (canonical.n !== undefined && canonical.n > 1) losses.add('n')
  if (canonical.cache !== undefined) losses.add('cache_control')
  losePenalties(canonical, losses)
  loseVerbosity(canonical, losses)
  loseFurther(canonical, losses)
  loseNames(canonical, losses)
  loseDetail(canonical, losses)
  // The field that asks a model of another house to think is not known.
  if (canonical.reasoning !== undefined && canonical.reasoning.effort !== 'none') losses.add('reasoning')
  const asked = inWords(canonical, losses)
  if (asked !== null) system.push({ text: asked })
  const body = compact({
    messages,
    system: system.length > 0 ? system : undefined,
    inferenceConfig: inferenceConfig(canonical, target, losses),
    toolConfig: toolConfig(canonical, names, losses),
  })
  return { body, losses: losses.all(), renamed: names.renamed }
}

/** There is no field for structured output that all models know: it is asked for in words, which is a loss. */
function inWords({ response_format: format }: CanonicalRequest, losses: Losses): string | null {
  if (format === undefined || format.type === 'text') return null
  losses.add('response_format')
  const object = 'Answer with a single JSON object and nothing else.'
  return format.type === 'json_object'
    ? object
    : `${object} It must follow this JSON Schema: ${JSON.stringify(format.schema)}`
}

function inferenceConfig(
  canonical: CanonicalRequest,
  { maxOutputTokens: most }: Target,
  losses: Losses,
): Json | undefined {
  const { temperature, top_p: topP, stop, max_output_tokens: wanted } = canonical
  if (temperature !== undefined && temperature > 1) losses.add('temperature')
  const stops = stop?.filter((words) => words !== '') ?? []
  const config = compact({
    maxTokens: wanted === undefined ? undefined : Math.max(1, most === null ? wanted : Math.min(wanted, most)),
    temperature: temperature === undefined ? undefined : Math.min(1, temperature),
    topP,
    stopSequences: stops.length > 0 ? stops : undefined,
  })
  return Object.keys(config).length > 0 ? config : undefined
}

function toolConfig(canonical: CanonicalRequest, names: ToolNames, losses: Losses): Json | undefined {
  const called = canonical.messages.some(({ content }) => content.some(({ type }) => type === 'tool_call'))
  const { tool_choice: choice } = canonical
  // No choice means none, but the tools of calls in the history must be there.
  if (choice === 'none' && !called) return undefined
  const given = toolsWithHistory(canonical)
  if (given.length === 0) return undefined
  if (choice === 'none') losses.add('tool_choice')
  if (canonical.parallel_tool_calls === false) losses.add('parallel_tool_calls')
  const tools = given.map(({ name, description, parameters, strict, cache }) => {
    if (cache !== undefined) losses.add('cache_control')
    if (strict === true) losses.add('tools.strict')
    const json = toolSchema(parameters, converseLimits, losses)
    return {
      toolSpec: compact({ name: names.sent(name), description: description || undefined, inputSchema: { json } }),
    }
  })
  if (typeof choice === 'object') return { tools, toolChoice: { tool: { name: names.sent(choice.name) } } }
  return choice === 'required' ? { tools, toolChoice: { any: {} } } : { tools }
}
