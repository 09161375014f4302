// The body of POST /v1/messages (compat.md 3.2, both API versions) and Anthropic's words for errors.
import { strictFault } from '../strict/strict.ts'
import { THREADS_BETA } from './store.ts'
import { nameOf, type Fault, type Rule } from '../rules.ts'
import type { Json } from '../vendor.ts'

export type Version = '2023-06-01' | '2026-10-21'
export const versions: readonly string[] = ['2023-06-01', '2026-10-21'] satisfies Version[]

const text: Rule = { kind: 'string', required: true }
const maybeText: Rule = { kind: 'string', nullable: true }
const flag: Rule = { kind: 'boolean' }
const open: Rule = { kind: 'object', nullable: true }
const toolId: Rule = { kind: 'string', required: true, pattern: /^[a-zA-Z0-9_-]+$/ }
const oneOf = (...values: string[]): Rule => ({ kind: 'string', values })
const closedObject = (fields: Record<string, Rule>, more: Partial<Rule> = {}): Rule => ({
  kind: 'object',
  fields,
  closed: true,
  ...more,
})
const requiredRule = (rule: Rule): Rule => ({ ...rule, required: true })
const type: Rule = { kind: 'string', required: true }

const cacheControl: Rule = closedObject(
  { type: requiredRule(oneOf('ephemeral')), ttl: oneOf('5m', '1h') },
  { nullable: true },
)
const textBlock = closedObject({
  type,
  text,
  cache_control: cacheControl,
  citations: { kind: 'array', nullable: true },
})
const source: Rule = { kind: 'object', required: true, fields: { type } }
const image: Rule = closedObject({
  type,
  source,
  cache_control: cacheControl,
  transformations: { kind: ['array', 'object'] },
})

const blocks: Record<string, Rule> = {
  text: textBlock,
  image,
  document: closedObject({
    type,
    source,
    title: maybeText,
    context: maybeText,
    citations: open,
    cache_control: cacheControl,
  }),
  search_result: closedObject({
    type,
    source: text,
    title: text,
    content: { kind: 'array', required: true },
    citations: open,
    cache_control: cacheControl,
  }),
  thinking: closedObject({ type, thinking: text, signature: text }),
  redacted_thinking: closedObject({ type, data: text }),
  tool_use: closedObject({
    type,
    id: toolId,
    name: text,
    input: { kind: 'object', required: true },
    caller: open,
    toolset_name: maybeText,
    cache_control: cacheControl,
  }),
  tool_result: closedObject({
    type,
    tool_use_id: toolId,
    content: { kind: ['string', 'array'], items: { kind: 'object', fields: { type } } },
    is_error: flag,
    cache_control: cacheControl,
  }),
}

/** Echoes of server tools and newer blocks pass unread. */
const block: Rule = { kind: 'object', fields: { type }, pick: (value) => blocks[value['type']] }

const message: Rule = closedObject({
  role: { kind: 'string', required: true, values: ['user', 'assistant', 'system'] },
  content: { kind: ['string', 'array'], required: true, items: block },
})

const customTool = closedObject({
  name: { kind: 'string', required: true, pattern: /^[a-zA-Z0-9_-]{1,128}$/ },
  input_schema: {
    kind: 'object',
    required: true,
    fields: { type: { kind: 'string', required: true, values: ['object'] } },
  },
  type: { kind: 'string', nullable: true },
  description: { kind: 'string' },
  strict: flag,
  cache_control: cacheControl,
  defer_loading: flag,
  allowed_callers: { kind: 'array' },
  eager_input_streaming: { kind: 'boolean', nullable: true },
  input_examples: { kind: 'array' },
})

const tool: Rule = {
  kind: 'object',
  pick: (value) =>
    value['type'] === undefined || value['type'] === null || value['type'] === 'custom' ? customTool : undefined,
}

const display = oneOf('summarized', 'omitted')
const thinkings: Record<string, Rule> = {
  enabled: closedObject({ type, budget_tokens: { kind: 'integer', required: true, min: 1024 }, display }),
  adaptive: closedObject({ type, display }),
  between_tools: closedObject({ type }),
  disabled: closedObject({ type }),
}

const choices: Record<string, Rule> = {
  auto: closedObject({ type, disable_parallel_tool_use: flag }),
  any: closedObject({ type, disable_parallel_tool_use: flag }),
  tool: closedObject({ type, name: text, disable_parallel_tool_use: flag }),
  none: closedObject({ type }),
}

const union = (kinds: Record<string, Rule>): Rule => ({
  kind: 'object',
  fields: { type: { kind: 'string', required: true, values: Object.keys(kinds) } },
  pick: (value) => kinds[value['type']],
})

const sharedFields: Record<string, Rule> = {
  model: text,
  messages: { kind: 'array', required: true, minItems: 1, maxItems: 100_000, items: message },
  system: { kind: ['string', 'array'], items: textBlock },
  cache_control: cacheControl,
  output_config: { kind: 'object', nullable: true },
  speed: { kind: 'string', nullable: true, values: ['standard', 'fast'] },
  thinking: union(thinkings),
  tool_choice: union(choices),
  tools: { kind: 'array', items: tool },
}

const generation: Record<string, Rule> = {
  max_tokens: { kind: 'integer', required: true, min: 0 },
  container: { kind: ['string', 'object'], nullable: true },
  diagnostics: open,
  inference_geo: maybeText,
  metadata: closedObject({ user_id: maybeText }),
  service_tier: oneOf('auto', 'standard_only'),
  stop_sequences: { kind: 'array', items: { kind: 'string', pattern: /\S/ } },
  stream: flag,
}

/** Removed in 2026-10-21. */
const sampling: Record<string, Rule> = {
  temperature: { kind: 'number', min: 0, max: 1 },
  top_p: { kind: 'number', min: 0, max: 1 },
  top_k: { kind: 'integer', min: 0 },
}

const betaNames = [
  'billing_policy',
  'compaction',
  'context_management',
  'fallbacks',
  'fallback_credit_token',
  'mcp_servers',
  'output_format',
]
const betaFields = Object.fromEntries(betaNames.map((name): [string, Rule] => [name, anything()]))

/** In the beta of message threads; `continue` may send nothing new after an unfinished turn. */
const thread = union({ create: closedObject({ type }), continue: closedObject({ type, previous_message_id: text }) })

type MessageRuleOptions = { counting?: boolean; continues?: boolean }

/** `betas`: false if the request names none. `continues`: the rest of the conversation is in a thread. */
export function messageRequest(
  version: string,
  betas: string[] | false,
  { counting, continues }: MessageRuleOptions = {},
): Rule {
  return closedObject({
    ...sharedFields,
    ...(continues ? { messages: { ...sharedFields['messages']!, minItems: 0 } } : {}),
    ...(betas && betas.includes(THREADS_BETA) ? { thread: { ...thread, nullable: true } } : {}),
    ...(counting ? {} : generation),
    ...(version === '2023-06-01' && !counting ? sampling : {}),
    ...(betas && betas.length > 0 ? betaFields : {}),
  })
}

function anything(): Rule {
  return { kind: ['string', 'number', 'boolean', 'array', 'object'], nullable: true }
}

export function faultMessage({ kind, path, rule, value }: Fault): string {
  const where = path.join('.')
  if (kind === 'missing') return `${where}: Field required`
  if (kind === 'unknown') return `${where}: Extra inputs are not permitted`
  if (kind === 'value') return `${where}: Input should be ${(rule.values ?? []).map((one) => `'${one}'`).join(' or ')}`
  if (kind === 'type')
    return `${where}: Input should be a valid ${[rule.kind].flat().join(' or ')}, not ${nameOf(value)}`
  if (kind === 'pattern') return `${where}: String should match pattern '${rule.pattern?.source}'`
  if (kind === 'range' && (value as number) < (rule.min ?? -Infinity)) {
    return `${where}: Input should be greater than or equal to ${rule.min}`
  }
  if (kind === 'range') return `${where}: Input should be less than or equal to ${rule.max}`
  return `${where}: the number of items is not allowed`
}

/** Errors that depend on the whole request. Returns the message of a 400. */
export function conflict(body: Json, version: string): string | undefined {
  return (
    thinkingConflict(body) ??
    cacheConflict(body) ??
    contentConflict(body['messages'], version) ??
    toolConflict(body) ??
    strictFault('anthropic', body) ??
    undefined
  )
}

function thinkingConflict(body: Json): string | undefined {
  if (body['thinking']?.type !== 'enabled' && body['thinking']?.type !== 'adaptive') return undefined
  const budget = body['thinking'].budget_tokens
  if (budget !== undefined && body['max_tokens'] !== undefined && body['max_tokens'] <= budget) {
    return '`max_tokens` must be greater than `thinking.budget_tokens`.'
  }
  if (body['temperature'] !== undefined && body['temperature'] !== 1)
    return '`temperature` may only be 1 when thinking is on.'
  if (['any', 'tool'].includes(body['tool_choice']?.type))
    return 'Thinking may not be on when tool_choice forces tool use.'
  return undefined
}

function cacheConflict(body: Json): string | undefined {
  const marks = JSON.stringify(body).match(/"cache_control":\{/g)?.length ?? 0
  return marks > 4 ? `A maximum of 4 blocks with cache_control may be provided. Found ${marks}.` : undefined
}

function contentConflict(messages: Json[], version: string): string | undefined {
  for (const [index, { role, content }] of messages.entries()) {
    const list: Json[] = typeof content === 'string' ? [{ type: 'text', text: content }] : content
    const last = index === messages.length - 1 && role === 'assistant'
    if (list.length === 0 && !last) return `messages.${index}: all messages must have non-empty content`
    if (list.some((one) => one['type'] === 'text' && one['text'] === ''))
      return 'messages: text content blocks must be non-empty'
    if (list.some((one) => one['type'] === 'text' && one['text'].trim() === '')) {
      return 'messages: text content blocks must contain non-whitespace text'
    }
    const final = list.at(-1)
    if (last && final?.['type'] === 'text' && /\s$/.test(final['text'])) {
      return 'messages: final assistant content cannot end with trailing whitespace'
    }
    if (version !== '2026-10-21') continue
    const document = list.findIndex((one) => role === 'assistant' && one['type'] === 'document')
    if (document >= 0) return `messages.${index}.content.${document}: a document is not allowed in an assistant message`
    const citedIndex = list.findIndex(
      (one) => role === 'user' && one['type'] === 'text' && one['citations']?.length > 0,
    )
    if (citedIndex >= 0) return `messages.${index}.content.${citedIndex}.citations: Extra inputs are not permitted`
  }
  return undefined
}

/** Every tool_use must be answered in the next message, and nothing else. Order doesn't matter. */
function toolConflict(body: Json): string | undefined {
  const turns = mergeTurns(body['messages'])
  let open: string[] = []
  for (const { role, content, index } of turns) {
    const uses = content.filter((one) => one['type'] === 'tool_use').map((one) => one['id'] as string)
    const results = content.filter((one) => one['type'] === 'tool_result').map((one) => one['tool_use_id'] as string)
    const stray = results.find((one) => !open.includes(one))
    if (role === 'user' && stray) {
      return `messages.${index}.content.0: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${stray}.`
    }
    const missing = open.filter((one) => !results.includes(one))
    if (role === 'user' && missing.length > 0) return unansweredError(index - 1, missing)
    const other = content.findIndex((one) => one['type'] !== 'tool_result')
    if (other >= 0 && other < results.length) {
      return `messages.${index}: \`tool_result\` blocks must come before other content in the message.`
    }
    if ((uses.length > 0 || results.length > 0) && !body['tools']?.length) {
      return 'Requests which include `tool_use` or `tool_result` blocks must define tools.'
    }
    open = role === 'assistant' ? uses : []
  }
  return open.length > 0 ? unansweredError(body['messages'].length - 1, open) : undefined
}

function unansweredError(index: number, ids: string[]): string {
  const why = '`tool_use` ids were found without `tool_result` blocks immediately after'
  return `messages.${index}: ${why}: ${ids.join(', ')}.`
}

/** Adjacent messages of one role are one turn; system messages in between belong to none. */
function mergeTurns(messages: Json[]): { role: string; content: Json[]; index: number }[] {
  const turns: { role: string; content: Json[]; index: number }[] = []
  for (const [index, { role, content }] of messages.entries()) {
    if (role === 'system') continue
    const list: Json[] = typeof content === 'string' ? [{ type: 'text', text: content }] : content
    const last = turns.at(-1)
    if (last && last.role === role) last.content.push(...list)
    else turns.push({ role, content: [...list], index })
  }
  return turns
}
