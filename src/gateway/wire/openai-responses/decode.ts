import { refuse } from '#core/errors.ts'
import type { CanonicalRequest } from '../../model/canonical-request.ts'
import { compact, isObject, type Json, listOf } from '../../model/json.ts'
import { boolean, integer, missing, number, object, string } from '../shared/request-fields.ts'
import type { Decoded } from '../shared/target.ts'
import { Losses, matters } from '../shared/losses.ts'
import { cacheOf } from '../shared/cache-marks.ts'
import { verbosityOf } from '../shared/sampling.ts'
import { describedSchema, openaiFields, userOf } from '../shared/openai-fields.ts'
import { decodeInput } from './decode-input.ts'
import { decodeToolChoice, decodeTools } from './tools.ts'

export const carriedFields: ReadonlySet<string> = new Set(
  `model input instructions tools tool_choice parallel_tool_calls reasoning text max_output_tokens temperature top_p
  user safety_identifier stream stream_options include metadata client_metadata cache_control prompt_cache_key prompt_cache_options
  prompt_cache_retention`.split(/\s+/),
)
const usual = new Map<string, (value: unknown) => boolean>([
  ['service_tier', (tier) => tier === 'auto' || tier === 'default'],
  ['truncation', (value) => value === 'disabled'],
])

/**
 * Unknown fields and features only OpenAI has are losses. Refuses what the answer would be wrong without: an earlier
 * response, a conversation or prompt stored at OpenAI, background mode. `store: true` is a loss: answers say `store:
 * false`.
 */
export function decode(body: unknown): Decoded {
  if (!isObject(body)) return refuse('invalid_parameter', { message: 'The body must be a JSON object.' })
  refuseStored(body)
  const losses = new Losses()
  for (const [name, value] of Object.entries(body)) {
    if (!carriedFields.has(name) && matters(value) && !usual.get(name)?.(value)) losses.add(name)
  }
  const logprobs = 'message.output_text.logprobs'
  if (listOf(body['include']).includes(logprobs)) losses.add(`include.${logprobs}`)
  const messages = decodeInput(body['input'] ?? missing('input'), losses)
  const instructions = string(body['instructions'], 'instructions')
  if (instructions) messages.unshift({ role: 'system', content: [{ type: 'text', text: instructions }] })
  if (messages.length === 0) refuse('invalid_parameter', { message: '`input` must not be empty.', param: 'input' })
  const tools = decodeTools(body, losses)
  const canonical: CanonicalRequest = compact({
    model: string(body['model'], 'model') ?? missing('model'),
    messages,
    max_output_tokens: integer(body['max_output_tokens'], 'max_output_tokens', 0),
    temperature: number(body['temperature'], 'temperature'),
    top_p: number(body['top_p'], 'top_p'),
    parallel_tool_calls: boolean(body['parallel_tool_calls'], 'parallel_tool_calls'),
    verbosity: verbosityOf(object(body['text'], 'text')?.['verbosity'], 'text.verbosity', losses),
    cache: cacheOf(body),
    ...openaiFields(body),
    response_format: formatOf(body, losses),
    reasoning: reasoningOf(body, losses),
    user: userOf(body, losses),
    ...decodeToolChoice(body, tools, losses),
  })
  return { canonical, stream: boolean(body['stream'], 'stream') ?? false, losses: losses.all() }
}

function refuseStored(body: Json): void {
  const previous = string(body['previous_response_id'], 'previous_response_id')
  if (previous)
    refuse('invalid_parameter', {
      message: `Previous response with id '${previous}' not found: responses aren’t stored for this model. Send the whole conversation as \`input\`.`,
      param: 'previous_response_id',
      details: { code: 'previous_response_not_found' },
    })
  for (const field of ['conversation', 'prompt', 'background'])
    if (matters(body[field]))
      refuse('invalid_parameter', { message: `\`${field}\` isn’t supported by this model.`, param: field })
}

function formatOf(body: Json, losses: Losses): CanonicalRequest['response_format'] {
  const text = object(body['text'], 'text')
  const format = object(text?.['format'], 'text.format')
  const type = string(format?.['type'], 'text.format.type')
  if (format === undefined || type === undefined) return undefined
  if (type === 'text' || type === 'json_object') return { type }
  if (type !== 'json_schema') {
    losses.add(`text.format.${type}`)
    return undefined
  }
  return compact({
    type,
    name: string(format['name'], 'text.format.name') ?? missing('text.format.name'),
    schema: describedSchema(
      object(format['schema'], 'text.format.schema') ?? missing('text.format.schema'),
      string(format['description'], 'text.format.description'),
    ),
    strict: boolean(format['strict'], 'text.format.strict'),
  })
}

const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const

function reasoningOf(body: Json, losses: Losses): CanonicalRequest['reasoning'] {
  const reasoning = object(body['reasoning'], 'reasoning') ?? {}
  const word = string(reasoning['effort'], 'reasoning.effort')
  const effort = efforts.find((one) => one === word)
  if (word !== undefined && effort === undefined) losses.add('reasoning.effort')
  for (const name of ['context', 'mode']) if (matters(reasoning[name])) losses.add(`reasoning.${name}`)
  return effort === undefined ? undefined : { effort }
}
