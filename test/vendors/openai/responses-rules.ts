// The fields of POST /v1/responses (openai 7.55.0 types, compat.md 2.5) and OpenAI's words for unpaired items.
import { article, type OpenAIError } from './rules.ts'
import { type Rule } from '../rules.ts'
import type { Json } from '../vendor.ts'

const text: Rule = { kind: 'string', required: true }
const optionalText: Rule = { kind: 'string', nullable: true }
const flag: Rule = { kind: 'boolean', nullable: true }
const record: Rule = { kind: 'object', nullable: true }
const oneOf = (...values: string[]): Rule => ({ kind: 'string', nullable: true, values })
const object = (fields: Record<string, Rule>, more: Partial<Rule> = {}): Rule => ({ kind: 'object', fields, ...more })
const list = (items: Rule, more: Partial<Rule> = {}): Rule => ({ kind: 'array', nullable: true, items, ...more })
const number = (min: number, max: number): Rule => ({ kind: 'number', nullable: true, min, max })
const count = (min: number, max = Infinity): Rule => ({ kind: 'integer', nullable: true, min, max })

/** An object with a `type`: unknown types are rejected, known ones without a rule accepted. */
const typedUnion = (rules: Record<string, Rule | null>): Rule =>
  object(
    { type: { kind: 'string', required: true, values: Object.keys(rules) } },
    { pick: (value) => rules[value['type'] as string] ?? undefined },
  )

const inputParts = {
  input_text: object({ text }),
  input_image: object({
    image_url: optionalText,
    file_id: optionalText,
    detail: oneOf('auto', 'low', 'high', 'original'),
  }),
  input_file: object({
    file_data: optionalText,
    file_id: optionalText,
    file_url: optionalText,
    filename: optionalText,
  }),
  input_audio: object({ input_audio: { ...record, required: true } }),
}
const outputParts = { output_text: object({ text }), refusal: object({ refusal: text }) }

const content = (parts: Record<string, Rule>): Rule => ({
  kind: ['string', 'array'],
  required: true,
  items: typedUnion(parts),
})
const roles = ['user', 'assistant', 'system', 'developer']
const message: Rule = object(
  { role: { kind: 'string', required: true, values: roles } },
  {
    pick: ({ role }) =>
      roles.includes(role) ? object({ content: content(role === 'assistant' ? outputParts : inputParts) }) : undefined,
  },
)
const result: Rule = object({ call_id: text, output: content(inputParts) })
const call = (field: string): Rule =>
  object({ call_id: text, name: text, [field]: text, id: optionalText, namespace: optionalText })
const reasoningItem: Rule = object({
  id: optionalText,
  summary: list(typedUnion({ summary_text: object({ text }) }), { required: true, nullable: false }),
  content: list(typedUnion({ reasoning_text: object({ text }) })),
  encrypted_content: optionalText,
})

const items: Record<string, Rule | null> = {
  message,
  function_call: call('arguments'),
  function_call_output: result,
  custom_tool_call: call('input'),
  custom_tool_call_output: result,
  reasoning: reasoningItem,
  item_reference: object({ id: text }),
  web_search_call: null,
  file_search_call: null,
  code_interpreter_call: null,
  image_generation_call: null,
  local_shell_call: null,
  local_shell_call_output: null,
  mcp_call: null,
  mcp_list_tools: null,
  mcp_approval_request: null,
  mcp_approval_response: null,
  compaction: null,
}

const item: Rule = object(
  {},
  { pick: (one) => (one['type'] === undefined && 'role' in one ? message : typedUnion(items)) },
)

const toolName: Rule = { kind: 'string', required: true, pattern: /^[a-zA-Z0-9_-]{1,128}$/ }
const functionTool: Rule = object({
  name: toolName,
  description: optionalText,
  parameters: { ...record, required: true },
  strict: { ...flag, required: true },
})
const customTool: Rule = object({ name: toolName, description: optionalText, format: record })
const plainTools = { function: functionTool, custom: customTool }
const tool: Rule = typedUnion({
  ...plainTools,
  namespace: object({ name: toolName, description: optionalText, tools: list(typedUnion(plainTools)) }),
  web_search: null,
  web_search_preview: null,
  file_search: null,
  code_interpreter: null,
  image_generation: null,
  computer_use_preview: null,
  mcp: null,
  local_shell: null,
  shell: null,
  apply_patch: null,
  tool_search: null,
})

const toolChoice: Rule = {
  kind: ['string', 'object'],
  nullable: true,
  values: ['none', 'auto', 'required'],
  pick: ({ type }) => {
    if (type === 'function' || type === 'custom') return object({ name: text })
    if (type !== 'allowed_tools') return object({ type: text })
    return object({ mode: { ...oneOf('auto', 'required'), required: true }, tools: { kind: 'array', required: true } })
  },
}

const format: Rule = typedUnion({
  text: null,
  json_object: null,
  json_schema: object({ name: text, schema: { kind: 'object', required: true }, strict: flag }),
})

/** The minimum of output tokens at OpenAI. */
export const MIN_OUTPUT = 16

export const responsesRequest: Rule = object(
  {
    model: text,
    input: { kind: ['string', 'array'], items: item },
    instructions: optionalText,
    tools: list(tool),
    tool_choice: toolChoice,
    parallel_tool_calls: flag,
    reasoning: object(
      {
        effort: oneOf('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'),
        summary: oneOf('auto', 'concise', 'detailed'),
      },
      { nullable: true },
    ),
    text: object({ format, verbosity: oneOf('low', 'medium', 'high') }, { nullable: true }),
    max_output_tokens: count(MIN_OUTPUT),
    max_tool_calls: count(1),
    previous_response_id: optionalText,
    conversation: { kind: ['string', 'object'], nullable: true },
    include: list({ kind: 'string' }),
    store: flag,
    background: flag,
    metadata: record,
    service_tier: oneOf('auto', 'default', 'flex', 'scale', 'priority', 'fast'),
    truncation: oneOf('auto', 'disabled'),
    temperature: number(0, 2),
    top_p: number(0, 1),
    top_logprobs: count(0, 20),
    prompt: record,
    prompt_cache_key: optionalText,
    prompt_cache_options: record,
    prompt_cache_retention: oneOf('in_memory', '24h'),
    safety_identifier: optionalText,
    stream: flag,
    stream_options: object({ include_obfuscation: flag }, { nullable: true }),
    user: optionalText,
    moderation: record,
    context_management: { kind: 'array', nullable: true },
    image: record,
    access_programs: record,
    // Codex identifies itself in it.
    client_metadata: record,
  },
  { closed: true },
)

/** Calls and their results must pair, in any order. */
export function itemPairing(input: Json[]): OpenAIError | undefined {
  const ids = (...types: string[]): string[] =>
    input.filter((one) => types.includes(one['type'])).map((one) => one['call_id'] as string)
  const calls = ids('function_call', 'custom_tool_call')
  const results = ids('function_call_output', 'custom_tool_call_output')
  const orphan = results.find((id) => !calls.includes(id))
  const open = calls.find((id) => !results.includes(id))
  if (orphan === undefined && open === undefined) return undefined
  const message =
    orphan === undefined
      ? `No tool output found for function call ${open}.`
      : `No tool call found for function call output with call_id ${orphan}.`
  return { status: 400, message, param: 'input' }
}

const beginnings: Record<string, string> = {
  message: 'msg',
  function_call: 'fc',
  custom_tool_call: 'ctc',
  reasoning: 'rs',
}

/** IDs must match the type of their item, and neither they nor call IDs may exceed 64 characters. */
export function itemNames(input: Json[]): OpenAIError | undefined {
  for (const [index, item] of input.entries()) {
    const start = beginnings[(item['type'] as string | undefined) ?? 'message']
    const name = item['id'] as string | null | undefined
    if (start !== undefined && typeof name === 'string' && !name.startsWith(start)) {
      const message = `Invalid 'input[${index}].id': '${name}'. Expected an ID that begins with '${start}'.`
      return { status: 400, message, param: `input[${index}].id`, code: 'invalid_value' }
    }
    for (const field of ['id', 'call_id']) {
      const itemId = item[field] as unknown
      if (typeof itemId !== 'string' || itemId.length <= 64) continue
      const message = `Invalid 'input[${index}].${field}': string too long. Expected a string with maximum length 64, but got a string with length ${itemId.length} instead.`
      return { status: 400, message, param: `input[${index}].${field}`, code: 'string_above_max_length' }
    }
  }
  return undefined
}

/** The fields that this type of model doesn't accept. */
export function itemConflict(body: Json, reasons: boolean): OpenAIError | undefined {
  // With reasoning turned off, a reasoning model accepts sampling fields.
  if (reasons && body['reasoning']?.effort === 'none') return undefined
  const refusedFields = reasons
    ? ['temperature', 'top_p'].find((name) => body[name] !== undefined && body[name] !== null && body[name] !== 1)
    : Object.keys((body['reasoning'] as Json | null) ?? {})
        .filter((name) => name === 'effort')
        .map((name) => `reasoning.${name}`)[0]
  if (refusedFields === undefined) return undefined
  const message = `Unsupported parameter: '${refusedFields}' is not supported with this model.`
  return { status: 400, message, param: refusedFields, code: 'unsupported_parameter' }
}

export function tooFew(limit: number): OpenAIError {
  const message = `Invalid 'max_output_tokens': ${article('integer')} below minimum value. Expected a value >= ${MIN_OUTPUT}, but got ${limit} instead.`
  return { status: 400, message, param: 'max_output_tokens', code: 'integer_below_min_value' }
}
