import { refuse } from '#core/errors.ts'
import type { CanonicalRequest } from '../../../model/canonical-request.ts'
import { compact, isObject, type Json } from '../../../model/json.ts'
import { boolean, integer, list, missing, number, object, string } from '../../shared/request-fields.ts'
import { efforts } from '../../shared/effort.ts'
import type { Decoded } from '../../shared/target.ts'
import { Losses, matters } from '../../shared/losses.ts'
import { cacheOf } from '../../shared/cache-marks.ts'
import { verbosityOf } from '../../shared/sampling.ts'
import { describedSchema, openaiFields, userOf } from '../../shared/openai-fields.ts'
import { decodeSystem } from '../../anthropic-messages/decode/messages.ts'
import { decodeModalities } from './modalities.ts'
import { decodeMessages } from './messages.ts'
import { isPartlyAnthropic } from './mixed.ts'
import { decodeToolChoice, decodeTools } from './tools.ts'

export interface DecodedChat extends Decoded {
  includeUsage: boolean
}

/** A surface that supports further fields removes them from the losses. */
export const carriedFields: ReadonlySet<string> = new Set(
  `model models messages max_completion_tokens max_tokens temperature top_p top_k frequency_penalty presence_penalty verbosity stop seed n tools functions tool_choice
  function_call parallel_tool_calls response_format reasoning reasoning_effort reasoningEffort include_reasoning user
  safety_identifier stream stream_options metadata prompt_cache_key prompt_cache_options prompt_cache_retention
  cache_control modalities`.split(/\s+/),
)
const usual = new Map<string, (value: unknown) => boolean>([
  ['service_tier', (tier) => tier === 'auto' || tier === 'default'],
  ['repetition_penalty', (penalty) => penalty === 1],
  // OpenRouter ignores both: usage is always in the answer, and models are always tried in order.
  ['usage', () => true],
  ['route', () => true],
])

/**
 * Unknown fields are tolerated and named as losses; null counts as absent. Refuses (`missing_parameter`,
 * `invalid_parameter`) what the vendor rejects.
 */
export function decode(body: unknown): DecodedChat {
  if (!isObject(body)) return refuse('invalid_parameter', { message: 'The body must be a JSON object.' })
  const losses = new Losses()
  const system = systemIn(body)
  const media = decodeModalities(body, losses)
  for (const [name, value] of Object.entries(body)) {
    const isRead = carriedFields.has(name) || (name === 'system' && system !== null) || Object.hasOwn(media, name)
    if (!isRead && matters(value) && !usual.get(name)?.(value)) losses.add(name)
  }
  const models = list(body['models'], 'models') ?? []
  const model = string(body['model'], 'model') || string(models[0], 'models.0') || undefined
  if (models.some((name) => name !== model)) losses.add('models')
  const messages = list(body['messages'], 'messages') ?? missing('messages')
  if (messages.length === 0)
    refuse('invalid_parameter', { message: '`messages` must not be empty.', param: 'messages' })
  const tools = decodeTools(body, losses)
  const canonical: CanonicalRequest = compact({
    model: model ?? missing('model'),
    messages: [...decodeSystem(system, losses), ...decodeMessages(messages, losses)],
    max_output_tokens:
      integer(body['max_completion_tokens'], 'max_completion_tokens', 0) ??
      integer(body['max_tokens'], 'max_tokens', 0),
    temperature: number(body['temperature'], 'temperature'),
    top_p: number(body['top_p'], 'top_p'),
    top_k: number(body['top_k'], 'top_k'),
    frequency_penalty: number(body['frequency_penalty'], 'frequency_penalty'),
    presence_penalty: number(body['presence_penalty'], 'presence_penalty'),
    verbosity: verbosityOf(body['verbosity'], 'verbosity', losses),
    cache: cacheOf(body),
    ...openaiFields(body),
    stop: stopOf(body['stop']),
    seed: number(body['seed'], 'seed'),
    n: integer(body['n'], 'n', 1),
    parallel_tool_calls: boolean(body['parallel_tool_calls'], 'parallel_tool_calls'),
    response_format: responseFormat(body, losses),
    reasoning: reasoningOf(body, losses),
    ...media,
    user: userOf(body, losses),
    ...decodeToolChoice(body, tools, losses),
  })
  const options = object(body['stream_options'], 'stream_options')
  return {
    canonical,
    stream: boolean(body['stream'], 'stream') ?? false,
    includeUsage: boolean(options?.['include_usage'], 'stream_options.include_usage') ?? false,
    losses: losses.all(),
  }
}

function systemIn(body: Json): unknown {
  const { system = null } = body
  const words =
    typeof system === 'string' ||
    (Array.isArray(system) &&
      system.every((part) => isObject(part) && part['type'] === 'text' && typeof part['text'] === 'string'))
  return words && isPartlyAnthropic(body) ? system : null
}

function stopOf(value: unknown): string[] | undefined {
  if (typeof value === 'string') return [value]
  const stops = list(value, 'stop', 'a string or an array of strings')?.map(
    (stop, i) => string(stop, `stop.${i}`) ?? '',
  )
  return stops && stops.length > 0 ? stops : undefined
}

function responseFormat(body: Json, losses: Losses): CanonicalRequest['response_format'] {
  const format = object(body['response_format'], 'response_format')
  const type = string(format?.['type'], 'response_format.type')
  if (format === undefined || type === undefined) return undefined
  if (type === 'text' || type === 'json_object') return { type }
  if (type !== 'json_schema') {
    losses.add(`response_format.${type}`)
    return undefined
  }
  const schema = object(format['json_schema'], 'response_format.json_schema') ?? missing('response_format.json_schema')
  return compact({
    type,
    name: string(schema['name'], 'response_format.json_schema.name') ?? missing('response_format.json_schema.name'),
    schema: describedSchema(
      object(schema['schema'], 'response_format.json_schema.schema') ?? {},
      string(schema['description'], 'response_format.json_schema.description'),
    ),
    strict: boolean(schema['strict'], 'response_format.json_schema.strict'),
  })
}

/** OpenRouter's `reasoning`, OpenAI's `reasoning_effort`, and `reasoningEffort`, which some clients send. */
function reasoningOf(body: Json, losses: Losses): CanonicalRequest['reasoning'] {
  const reasoningField = object(body['reasoning'], 'reasoning') ?? {}
  const word =
    string(reasoningField['effort'], 'reasoning.effort') ??
    string(body['reasoning_effort'], 'reasoning_effort') ??
    string(body['reasoningEffort'], 'reasoningEffort') ??
    (reasoningField['enabled'] === false
      ? 'none'
      : reasoningField['enabled'] === true && reasoningField['max_tokens'] == null
        ? 'medium'
        : undefined)
  const effort = efforts.find((one) => one === word)
  if (word !== undefined && effort === undefined) losses.add('reasoning_effort')
  const exclude =
    boolean(reasoningField['exclude'], 'reasoning.exclude') ?? (body['include_reasoning'] === false || undefined)
  const reasoning = compact({
    effort,
    max_tokens: integer(reasoningField['max_tokens'], 'reasoning.max_tokens', 0),
    exclude,
  })
  return Object.keys(reasoning).length > 0 ? reasoning : undefined
}
