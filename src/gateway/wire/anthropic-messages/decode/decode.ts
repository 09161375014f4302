import { refuse } from '#core/errors.ts'
import type { Tool, CanonicalRequest, CanonicalMessage } from '../../../model/canonical-request.ts'
import { compact, isObject, type Json, listOf } from '../../../model/json.ts'
import { boolean, integer, list, missing, number, object, string } from '../../shared/request-fields.ts'
import type { Decoded } from '../../shared/target.ts'
import { Losses, matters } from '../../shared/losses.ts'
import { decodeMessages, decodeSystem } from './messages.ts'
import { cacheOf, loseMark } from '../../shared/cache-marks.ts'
import { UniqueTools } from '../../shared/tools/twins.ts'
import { clientTool } from './client-tools.ts'
import { loseToolFields } from './lose-tool-fields.ts'

export type AnthropicVersion = '2023-06-01' | '2026-10-21'

/**
 * Includes `diagnostics`, which compares the request with an earlier one, and `betas`, whose fields are named one by
 * one. New threads aren't stored: a client that continues one gets an error, and sends everything.
 */
export const carriedFields: ReadonlySet<string> = new Set(
  `model max_tokens messages system temperature top_p top_k stop_sequences stream tools tool_choice thinking
  output_config output_format metadata cache_control diagnostics betas thread`.split(/\s+/),
)
const usual = new Map<string, unknown[]>([
  ['service_tier', ['auto', 'standard_only']],
  ['speed', ['standard']],
])

/**
 * Unknown fields are tolerated and named as losses; null counts as absent. Refuses (`missing_parameter`,
 * `invalid_parameter`) what the vendor rejects.
 */
export function decode(body: unknown, version: AnthropicVersion = '2023-06-01'): Decoded {
  if (!isObject(body)) return refuse('invalid_parameter', { message: 'The body must be a JSON object.' })
  const losses = new Losses()
  for (const [name, value] of Object.entries(body)) {
    if (!carriedFields.has(name) && matters(value) && !usual.get(name)?.includes(value)) losses.add(name)
  }
  if (version === '2026-10-21') refuseRetired(body)
  const model = string(body['model'], 'model') || missing('model')
  const limit = integer(body['max_tokens'], 'max_tokens', 0) ?? missing('max_tokens')
  const messageList = list(body['messages'], 'messages') ?? missing('messages')
  if (messageList.length === 0)
    refuse('invalid_parameter', { message: 'messages: at least one message is required', param: 'messages' })
  const metadata = object(body['metadata'], 'metadata')
  if (Object.keys(metadata ?? {}).some((name) => name !== 'user_id' && matters(metadata![name]))) losses.add('metadata')
  const messages: CanonicalMessage[] = [...decodeSystem(body['system'], losses), ...decodeMessages(messageList, losses)]
  const canonical: CanonicalRequest = compact({
    model,
    messages,
    max_output_tokens: limit,
    temperature: number(body['temperature'], 'temperature'),
    top_p: number(body['top_p'], 'top_p'),
    top_k: number(body['top_k'], 'top_k'),
    stop: list(body['stop_sequences'], 'stop_sequences')?.map((stop, i) => string(stop, `stop_sequences.${i}`) ?? ''),
    tools: decodeTools(body, losses),
    ...decodeToolChoice(body),
    response_format: responseFormat(body),
    cache: cacheOf(body),
    reasoning: reasoningOf(body, losses),
    user: string(metadata?.['user_id'], 'metadata.user_id'),
  })
  return { canonical, stream: boolean(body['stream'], 'stream') ?? false, losses: losses.all() }
}

/** Sampling, documents in assistant messages, citations in user messages. */
function refuseRetired(body: Json): void {
  const refuseField = (param: string, why = 'Extra inputs are not permitted'): never =>
    refuse('invalid_parameter', { message: `${param}: ${why} since 2026-10-21`, param })
  for (const param of ['temperature', 'top_p', 'top_k'])
    if (body[param] !== undefined && body[param] !== null) refuseField(param)
  listOf(body['messages']).forEach((message, i) => {
    if (!isObject(message)) return
    listOf(message['content']).forEach((block, j) => {
      if (!isObject(block)) return
      const at = `messages.${i}.content.${j}`
      if (message['role'] === 'assistant' && block['type'] === 'document')
        refuseField(at, 'a document is not allowed in an assistant message')
      if (message['role'] !== 'assistant' && block['type'] === 'text' && listOf(block['citations']).length > 0)
        refuseField(`${at}.citations`)
    })
  })
}

/** Tools that the vendor runs are a loss `tools.<type>`. */
function decodeTools(body: Json, losses: Losses): Tool[] | undefined {
  const tools = new UniqueTools()
  for (const [i, value] of (list(body['tools'], 'tools') ?? []).entries()) {
    const at = `tools.${i}`
    const tool = object(value, at) ?? {}
    const type = string(tool['type'], `${at}.type`) ?? 'custom'
    if (type !== 'custom') {
      const own = typeof tool['name'] === 'string' ? clientTool(type, tool['name']) : null
      if (own !== null) tools.add(compact({ ...own, cache: cacheOf(tool) }), `${at}.name`)
      else {
        loseMark(tool, losses)
        losses.add(`tools.${type}`)
      }
      continue
    }
    loseToolFields(tool, losses)
    const custom = compact({
      name: string(tool['name'], `${at}.name`) ?? missing(`${at}.name`),
      description: string(tool['description'], `${at}.description`),
      parameters: object(tool['input_schema'], `${at}.input_schema`) ?? missing(`${at}.input_schema`),
      strict: boolean(tool['strict'], `${at}.strict`),
      cache: cacheOf(tool),
    })
    tools.add(custom, `${at}.name`)
  }
  const unique = tools.all()
  return unique.length > 0 ? unique : undefined
}

function decodeToolChoice(body: Json): Pick<CanonicalRequest, 'tool_choice' | 'parallel_tool_calls'> {
  const choice = object(body['tool_choice'], 'tool_choice')
  if (!choice) return {}
  const one = boolean(choice['disable_parallel_tool_use'], 'tool_choice.disable_parallel_tool_use')
  const parallel = one === true ? { parallel_tool_calls: false } : {}
  switch (string(choice['type'], 'tool_choice.type')) {
    case 'auto':
      return { tool_choice: 'auto', ...parallel }
    case 'any':
      return { tool_choice: 'required', ...parallel }
    case 'none':
      return { tool_choice: 'none' }
    case 'tool':
      return {
        tool_choice: { name: string(choice['name'], 'tool_choice.name') ?? missing('tool_choice.name') },
        ...parallel,
      }
    default:
      return refuse('invalid_parameter', {
        message: '`tool_choice.type` must be auto, any, tool or none.',
        param: 'tool_choice.type',
      })
  }
}

function responseFormat(body: Json): CanonicalRequest['response_format'] {
  const config = object(body['output_config'], 'output_config')
  const format = object(config?.['format'], 'output_config.format') ?? object(body['output_format'], 'output_format')
  if (format?.['type'] !== 'json_schema') return undefined
  const schema = object(format['schema'], 'output_config.format.schema') ?? missing('output_config.format.schema')
  return { type: 'json_schema', name: 'answer', schema }
}

const efforts = ['low', 'medium', 'high', 'xhigh', 'max'] as const

/** Adaptive thinking without an effort means the vendor's `high`. */
function reasoningOf(body: Json, losses: Losses): CanonicalRequest['reasoning'] {
  const thinking = object(body['thinking'], 'thinking')
  const config = object(body['output_config'], 'output_config')
  const word = string(config?.['effort'], 'output_config.effort')
  const effort = efforts.find((one) => one === word)
  if (word !== undefined && effort === undefined) losses.add('output_config.effort')
  if (matters(config?.['task_budget'])) losses.add('output_config.task_budget')
  const type = string(thinking?.['type'], 'thinking.type')
  if (thinking === undefined || type === undefined) return effort === undefined ? undefined : { effort }
  if (type === 'disabled') return { effort: 'none' }
  const exclude = thinking['display'] === 'omitted' ? { exclude: true } : {}
  if (type !== 'enabled') return { effort: effort ?? 'high', ...exclude }
  const budget = integer(thinking['budget_tokens'], 'thinking.budget_tokens', 1) ?? missing('thinking.budget_tokens')
  return { ...(effort !== undefined && { effort }), max_tokens: budget, ...exclude }
}
