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
  if (canonical.reasoning !== undefined && canonical.reasoning.effort !== 'none') losses.add('reasoning')
  const formatInstruction = inWords(canonical, losses)
  if (formatInstruction !== null) system.push({ text: formatInstruction })
  const body = compact({
    messages,
    system: system.length > 0 ? system : undefined,
    inferenceConfig: inferenceConfig(canonical, target, losses),
    toolConfig: toolConfig(canonical, names, losses),
  })
  return { body, losses: losses.all(), renamed: names.renamed }
}

/** Converse has no common field for structured output: an instruction requests it, which is a loss. */
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
  const { temperature, top_p: topP, stop, max_output_tokens: requestedLimit } = canonical
  if (temperature !== undefined && temperature > 1) losses.add('temperature')
  const stops = stop?.filter((words) => words !== '') ?? []
  const config = compact({
    maxTokens:
      requestedLimit === undefined
        ? undefined
        : Math.max(1, most === null ? requestedLimit : Math.min(requestedLimit, most)),
    temperature: temperature === undefined ? undefined : Math.min(1, temperature),
    topP,
    stopSequences: stops.length > 0 ? stops : undefined,
  })
  return Object.keys(config).length > 0 ? config : undefined
}

function toolConfig(canonical: CanonicalRequest, names: ToolNames, losses: Losses): Json | undefined {
  const hasCalls = canonical.messages.some(({ content }) => content.some(({ type }) => type === 'tool_call'))
  const { tool_choice: choice } = canonical
  // Without a tool choice, only tools of calls in the history are sent.
  if (choice === 'none' && !hasCalls) return undefined
  const allTools = toolsWithHistory(canonical)
  if (allTools.length === 0) return undefined
  if (choice === 'none') losses.add('tool_choice')
  if (canonical.parallel_tool_calls === false) losses.add('parallel_tool_calls')
  const tools = allTools.map(({ name, description, parameters, strict, cache }) => {
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
