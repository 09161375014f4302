// The fields of POST /v1/chat/completions and /v1/embeddings (compat.md 2.1, openai 7.55.0) and OpenAI's words for
// errors.
import { nameOf, type Fault, type Path, type Rule } from '../rules.ts'
import type { Json } from '../vendor.ts'

export type OpenAIError = {
  status: number
  message: string
  type?: string
  param?: string | null
  code?: string | null
}

const text: Rule = { kind: 'string', required: true }
const optionalText: Rule = { kind: 'string', nullable: true }
const flag: Rule = { kind: 'boolean', nullable: true }
const record: Rule = { kind: 'object', nullable: true }
const oneOf = (...values: string[]): Rule => ({ kind: 'string', nullable: true, values })
const object = (fields: Record<string, Rule>, more: Partial<Rule> = {}): Rule => ({ kind: 'object', fields, ...more })
const requiredRule = (rule: Rule): Rule => ({ ...rule, required: true })
const literal = (value: string): Rule => ({ kind: 'string', required: true, values: [value] })

const parts: Record<string, Rule> = {
  text: object({ text }),
  image_url: object({
    image_url: requiredRule(object({ url: text, detail: oneOf('auto', 'low', 'high', 'original') })),
  }),
  input_audio: object({ input_audio: requiredRule(object({ data: text, format: requiredRule(oneOf('wav', 'mp3')) })) }),
  file: object({
    file: requiredRule(object({ file_data: optionalText, file_id: optionalText, filename: optionalText })),
  }),
  refusal: object({ refusal: text }),
}

const content = (types: string[], more: Partial<Rule> = {}): Rule => ({
  kind: ['string', 'array'],
  minItems: 1,
  items: object(
    { type: { kind: 'string', required: true, values: types } },
    {
      pick: (part) => (types.includes(part['type']) ? parts[part['type']] : undefined),
    },
  ),
  ...more,
})

const toolCall: Rule = object(
  { id: text, type: { kind: 'string', required: true, values: ['function', 'custom'] } },
  {
    pick: (call) => {
      if (call['type'] === 'function')
        return object({ id: text, function: requiredRule(object({ name: text, arguments: text })) })
      if (call['type'] === 'custom')
        return object({ id: text, custom: requiredRule(object({ name: text, input: text })) })
      return undefined
    },
  },
)

const plain = content(['text'], { required: true })
const messages: Record<string, Rule> = {
  developer: object({ content: plain, name: optionalText }),
  system: object({ content: plain, name: optionalText }),
  user: object({
    content: content(['text', 'image_url', 'input_audio', 'file'], { required: true }),
    name: optionalText,
  }),
  assistant: object({
    content: content(['text', 'refusal'], { nullable: true }),
    refusal: optionalText,
    name: optionalText,
    audio: record,
    function_call: record,
    tool_calls: { kind: 'array', items: toolCall, minItems: 1, nullable: true },
  }),
  tool: object({ content: plain, tool_call_id: text }),
  function: object({ content: { kind: 'string', nullable: true }, name: text }),
}

const functionName: Rule = { kind: 'string', required: true, pattern: /^[a-zA-Z0-9_-]{1,64}$/ }
const tool: Rule = object(
  { type: { kind: 'string', required: true, values: ['function', 'custom'] } },
  {
    pick: (one) => {
      if (one['type'] === 'custom')
        return object({ custom: requiredRule(object({ name: functionName, format: record })) })
      if (one['type'] !== 'function') return undefined
      const fields = { name: functionName, description: optionalText, parameters: record, strict: flag }
      return object({ function: requiredRule(object(fields)) })
    },
  },
)

const toolChoice: Rule = {
  kind: ['string', 'object'],
  nullable: true,
  values: ['none', 'auto', 'required'],
  pick: ({ type }) => {
    if (type === 'function') return object({ function: requiredRule(object({ name: text })) })
    if (type === 'custom') return object({ custom: requiredRule(object({ name: text })) })
    const allowedTools = object({
      mode: requiredRule(oneOf('auto', 'required')),
      tools: { kind: 'array', required: true },
    })
    if (type === 'allowed_tools') return object({ allowed_tools: requiredRule(allowedTools) })
    return object({ type: { kind: 'string', required: true, values: ['function', 'custom', 'allowed_tools'] } })
  },
}

const responseFormat: Rule = object(
  { type: { kind: 'string', required: true, values: ['text', 'json_object', 'json_schema'] } },
  {
    nullable: true,
    pick: ({ type }) =>
      type === 'json_schema'
        ? object({
            json_schema: requiredRule(object({ name: text, description: optionalText, schema: record, strict: flag })),
          })
        : undefined,
  },
)

const number = (min: number, max: number): Rule => ({ kind: 'number', nullable: true, min, max })
const integer = (min: number, max = Infinity): Rule => ({ kind: 'integer', nullable: true, min, max })

export const chatRequest: Rule = object(
  {
    model: text,
    messages: {
      kind: 'array',
      required: true,
      minItems: 1,
      items: object(
        { role: { kind: 'string', required: true, values: Object.keys(messages) } },
        {
          pick: (message) => messages[message['role']],
        },
      ),
    },
    audio: record,
    frequency_penalty: number(-2, 2),
    presence_penalty: number(-2, 2),
    function_call: { kind: ['string', 'object'], nullable: true },
    functions: { kind: 'array', nullable: true },
    logit_bias: record,
    logprobs: flag,
    top_logprobs: integer(0, 20),
    max_completion_tokens: integer(1),
    max_tokens: integer(1),
    metadata: record,
    modalities: { kind: 'array', nullable: true, items: { kind: 'string', values: ['text', 'audio'] } },
    moderation: record,
    n: integer(1, 128),
    parallel_tool_calls: { kind: 'boolean' },
    prediction: object(
      { type: literal('content'), content: content(['text'], { required: true }) },
      { nullable: true },
    ),
    prompt_cache_key: optionalText,
    prompt_cache_options: record,
    prompt_cache_retention: oneOf('in_memory', '24h'),
    reasoning_effort: oneOf('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'),
    response_format: responseFormat,
    safety_identifier: optionalText,
    user: optionalText,
    seed: { kind: 'integer', nullable: true },
    service_tier: oneOf('auto', 'default', 'flex', 'scale', 'priority', 'fast'),
    stop: { kind: ['string', 'array'], nullable: true, maxItems: 4, items: { kind: 'string' } },
    store: flag,
    stream: flag,
    stream_options: object({ include_usage: flag, include_obfuscation: flag }, { nullable: true }),
    temperature: number(0, 2),
    top_p: number(0, 1),
    tool_choice: toolChoice,
    tools: { kind: 'array', nullable: true, items: tool },
    verbosity: oneOf('low', 'medium', 'high'),
    web_search_options: record,
  },
  { closed: true },
)

export const embeddingsRequest: Rule = object(
  {
    input: { kind: ['string', 'array'], required: true, minItems: 1, maxItems: 2048 },
    model: text,
    dimensions: { kind: 'integer', min: 1 },
    encoding_format: { kind: 'string', values: ['float', 'base64'] },
    user: { kind: 'string' },
  },
  { closed: true },
)

export function pathName(path: Path): string {
  return path.map((step, n) => (typeof step === 'number' ? `[${step}]` : `${n > 0 ? '.' : ''}${step}`)).join('')
}

export function faultError({ kind, path, rule, value }: Fault): OpenAIError {
  const param = pathName(path)
  const fault = (message: string, code: string): OpenAIError => ({ status: 400, message, param, code })
  if (kind === 'missing') return fault(`Missing required parameter: '${param}'.`, 'missing_required_parameter')
  if (kind === 'unknown') return fault(`Unknown parameter: '${param}'.`, 'unknown_parameter')
  if (kind === 'value') {
    const values = (rule.values ?? []).map((one) => `'${one}'`).join(', ')
    return fault(`Invalid value: '${String(value)}'. Supported values are: ${values}.`, 'invalid_value')
  }
  if (kind === 'type') {
    const expectedKinds = [rule.kind].flat().map(article).join(' or ')
    return fault(
      `Invalid type for '${param}': expected ${expectedKinds}, but got ${article(nameOf(value))} instead.`,
      'invalid_type',
    )
  }
  return fault(`Invalid '${param}': the value is outside what this field allows.`, 'invalid_value')
}

export function article(kind: string): string {
  if (kind === 'null') return 'null'
  return `${/^[aeiou]/.test(kind) ? 'an' : 'a'} ${kind}`
}

/** Tool calls must be answered at once, and nothing else may be. */
export function pairing(list: Json[]): OpenAIError | undefined {
  let open = new Set<string>()
  for (const [index, message] of [...list, { role: 'end' } as Json].entries()) {
    if (message['role'] === 'tool') {
      if (open.delete(message['tool_call_id'])) continue
      const role = `messages.[${index}].role`
      return { status: 400, message: "A message with role 'tool' must answer a preceding 'tool_calls'.", param: role }
    }
    if (open.size > 0) {
      const ids = [...open].join(', ')
      const why = "An assistant message with 'tool_calls' must be followed by tool messages responding to each"
      return {
        status: 400,
        message: `${why} 'tool_call_id'. Without an answer: ${ids}`,
        param: `messages.[${index}].role`,
      }
    }
    open = new Set((message['tool_calls'] ?? []).map((call: Json) => call['id'] as string))
  }
  return undefined
}
