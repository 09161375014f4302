import type { CanonicalRequest } from '../../model/canonical-request.ts'
import { compact, type Json } from '../../model/json.ts'
import { Losses } from '../shared/losses.ts'
import { pairToolResults, toolsWithHistory } from '../shared/pairing.ts'
import { type Encoded, mayReason, type Target } from '../shared/target.ts'
import { ToolNames } from '../shared/tools/tool-names.ts'
import { geminiLimits, toolSchema } from '../shared/tools/tool-schema.ts'
import { askForMedia } from './output-media.ts'
import { encodeContents } from './encode-contents.ts'
import { type Quirks, quirksOf } from './quirks.ts'
import { loseVerbosity } from '../shared/sampling.ts'
import { loseDetail, loseFurther, loseNames } from '../shared/openai-fields.ts'
import { subsetSchema } from './schema.ts'
import { thinkingOf } from './thinking.ts'

const LONGEST_NAME = 64
const MAX_STOPS = 5

export function encode(canonical: CanonicalRequest, target: Target): Encoded {
  const losses = new Losses()
  const names = new ToolNames(LONGEST_NAME, canonical.tools, /^[a-zA-Z_]/)
  const quirks = quirksOf(target)
  const { system, contents } = encodeContents(pairToolResults(canonical.messages), { names, quirks, losses })
  const tools = toolsOf(canonical, names, losses)
  if (canonical.n !== undefined && canonical.n > 1) losses.add('n')
  if (canonical.cache !== undefined) losses.add('cache_control')
  if (canonical.user !== undefined) losses.add('user')
  loseVerbosity(canonical, losses)
  loseFurther(canonical, losses)
  loseNames(canonical, losses)
  loseDetail(canonical, losses)
  const body: Json = compact({
    systemInstruction: system.length > 0 ? { parts: system } : undefined,
    contents: contents.length > 0 ? contents : [{ role: 'user', parts: [{ text: '…' }] }],
    tools: tools.length > 0 ? [{ functionDeclarations: tools }] : undefined,
    toolConfig: tools.length > 0 ? toolConfig(canonical, names, losses) : undefined,
    generationConfig: generationConfig(canonical, target, quirks, tools.length > 0, losses),
  })
  return { body, losses: losses.all(), renamed: names.renamed, watched: canonical.stop?.slice(MAX_STOPS) ?? [] }
}

function toolsOf(canonical: CanonicalRequest, names: ToolNames, losses: Losses): Json[] {
  return toolsWithHistory(canonical).map(({ name, description, parameters, strict, cache }) => {
    if (strict === true) losses.add('tools.strict')
    if (cache !== undefined) losses.add('cache_control')
    const plain = toolSchema(parameters, geminiLimits, losses)
    const schema = subsetSchema(plain, 'tools.parameters', losses)
    return compact({ name: names.sent(name), description, parametersJsonSchema: schema })
  })
}

function toolConfig(canonical: CanonicalRequest, names: ToolNames, losses: Losses): Json | undefined {
  const { tool_choice: choice, parallel_tool_calls: parallel } = canonical
  if (parallel === false) losses.add('parallel_tool_calls')
  if (choice === undefined) return undefined
  const functionCallingConfig =
    typeof choice === 'object'
      ? { mode: 'ANY', allowedFunctionNames: [names.sent(choice.name)] }
      : { mode: { auto: 'AUTO', required: 'ANY', none: 'NONE' }[choice] }
  return { functionCallingConfig }
}

function generationConfig(
  canonical: CanonicalRequest,
  target: Target,
  quirks: Quirks,
  tools: boolean,
  losses: Losses,
): Json | undefined {
  const { temperature, top_p: topP, top_k: topK, seed, stop, max_output_tokens: requestedLimit, reasoning } = canonical
  const most = target.maxOutputTokens
  const limit =
    requestedLimit === undefined
      ? undefined
      : Math.max(1, most === null ? requestedLimit : Math.min(requestedLimit, most))
  if (!mayReason(target) && reasoning !== undefined && reasoning.effort !== 'none') losses.add('reasoning')
  const config = compact({
    temperature,
    topP,
    topK,
    seed,
    frequencyPenalty: canonical.frequency_penalty,
    presencePenalty: canonical.presence_penalty,
    maxOutputTokens: limit,
    stopSequences: stop === undefined || stop.length === 0 ? undefined : stop.slice(0, MAX_STOPS),
    thinkingConfig: mayReason(target) ? thinkingOf(canonical, quirks, losses) : undefined,
    ...formatOf(canonical, quirks, tools, losses),
    ...askForMedia(canonical, losses),
  })
  return Object.keys(config).length > 0 ? config : undefined
}

function formatOf({ response_format: format }: CanonicalRequest, quirks: Quirks, tools: boolean, losses: Losses): Json {
  if (format === undefined || format.type === 'text') return {}
  if (tools && !quirks.schemaWithTools) {
    losses.add('response_format')
    return {}
  }
  if (format.type === 'json_object') return { responseMimeType: 'application/json' }
  return {
    responseMimeType: 'application/json',
    responseJsonSchema: subsetSchema(format.schema, 'response_format', losses),
  }
}
