// The body of Converse and ConverseStream (docs.aws.amazon.com/bedrock/latest/APIReference) and what it rejects.
import { strictFault } from '../strict/strict.ts'
import { nameOf, type Fault, type Rule } from '../rules.ts'
import type { Json } from '../vendor.ts'

const text: Rule = { kind: 'string' }
const requiredText: Rule = { kind: 'string', required: true }
const open: Rule = { kind: 'object' }
const closedObject = (fields: Record<string, Rule>, more: Partial<Rule> = {}): Rule => ({
  kind: 'object',
  fields,
  closed: true,
  ...more,
})
const list = (items: Rule, more: Partial<Rule> = {}): Rule => ({ kind: 'array', items, ...more })
const must = (rule: Rule): Rule => ({ ...rule, required: true })

const cachePoint = closedObject({ type: { kind: 'string', required: true, values: ['default'] }, ttl: text })
const source = closedObject({ bytes: text, s3Location: open, text, content: { kind: 'array' } }, { required: true })
const image = closedObject({
  format: { kind: 'string', required: true, values: ['png', 'jpeg', 'gif', 'webp'] },
  source,
})
const document = closedObject({
  format: { kind: 'string', values: ['pdf', 'csv', 'doc', 'docx', 'xls', 'xlsx', 'html', 'txt', 'md'] },
  name: { kind: 'string', required: true, pattern: /^[a-zA-Z0-9\s\-()[\]]{1,200}$/ },
  source,
  context: text,
  citations: open,
})
const toolId: Rule = { kind: 'string', required: true, pattern: /^[a-zA-Z0-9_-]{1,64}$/ }
const toolUse = closedObject({
  toolUseId: toolId,
  name: requiredText,
  input: { kind: ['object', 'array', 'string', 'number', 'boolean'], required: true },
  type: text,
})
const toolResult = closedObject({
  toolUseId: toolId,
  content: list(
    closedObject({ text, json: { kind: ['object', 'array'] }, image, document, video: open, searchResult: open }),
    {
      required: true,
    },
  ),
  status: { kind: 'string', values: ['success', 'error'] },
  type: text,
})
const reasoningContent = closedObject({
  reasoningText: closedObject({ text: requiredText, signature: text }),
  redactedContent: text,
})
const block = closedObject({
  text,
  image,
  document,
  video: open,
  audio: open,
  toolUse,
  toolResult,
  guardContent: open,
  cachePoint,
  reasoningContent,
  citationsContent: open,
  searchResult: open,
})

const tool = closedObject({
  toolSpec: closedObject({
    name: { kind: 'string', required: true, pattern: /^[a-zA-Z0-9_-]{1,64}$/ },
    description: text,
    inputSchema: must(closedObject({ json: { kind: 'object', required: true } })),
    strict: { kind: 'boolean' },
  }),
  systemTool: open,
  cachePoint,
})

export const converseRequest: Rule = closedObject({
  messages: list(
    closedObject({
      role: { kind: 'string', required: true, values: ['user', 'assistant'] },
      content: list(block, { required: true }),
    }),
  ),
  system: list(closedObject({ text, guardContent: open, cachePoint })),
  inferenceConfig: closedObject({
    maxTokens: { kind: 'integer', min: 1 },
    temperature: { kind: 'number', min: 0, max: 1 },
    topP: { kind: 'number', min: 0, max: 1 },
    stopSequences: list({ kind: 'string' }, { maxItems: 2500 }),
  }),
  toolConfig: closedObject({
    tools: list(tool, { required: true, minItems: 1 }),
    toolChoice: closedObject({ auto: open, any: open, tool: closedObject({ name: requiredText }) }),
  }),
  guardrailConfig: open,
  additionalModelRequestFields: open,
  additionalModelResponseFieldPaths: { kind: 'array' },
  promptVariables: open,
  requestMetadata: open,
  performanceConfig: closedObject({ latency: { kind: 'string', values: ['standard', 'optimized'] } }),
  serviceTier: open,
  outputConfig: open,
})

export function faultMessage({ kind, path, rule, value }: Fault): string {
  const where = path.join('.')
  if (kind === 'unknown') return `The model returned the following errors: ${where}: Extra inputs are not permitted`
  const why =
    kind === 'missing'
      ? 'Member must not be null'
      : kind === 'value'
        ? `Member must satisfy enum value set: [${(rule.values ?? []).join(', ')}]`
        : kind === 'pattern'
          ? `Member must satisfy regular expression pattern: ${rule.pattern?.source}`
          : kind === 'type'
            ? `Expected ${[rule.kind].flat().join(' or ')}, found ${nameOf(value)}`
            : 'Member is outside of its range'
  return `1 validation error detected: Value at '${where}' failed to satisfy constraint: ${why}`
}

/** Errors that depend on the whole conversation. */
export function conflict(body: Json): string | undefined {
  const messages: Json[] = body['messages'] ?? []
  if (messages.length === 0) return 'A conversation must have at least one message. Try again with a conversation.'
  if (messages[0]?.['role'] !== 'user')
    return 'A conversation must start with a user message. Try again with a conversation that starts with a user message.'
  let pendingIds: string[] = []
  let hasTools = false
  for (const [index, { role, content }] of messages.entries()) {
    const blocks = content as Json[]
    if (index > 0 && messages[index - 1]?.['role'] === role)
      return 'A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user and assistant roles and try again.'
    if (blocks.length === 0)
      return `The content field in the Message object at messages.${index} is empty. Add a ContentBlock object to the content field and try again.`
    const many = blocks.findIndex((one) => Object.keys(one).length !== 1)
    if (many >= 0) return `messages.${index}.content.${many}: exactly one member of the content block must be set`
    const blank = blocks.findIndex((one) => one['text'] !== undefined && one['text'].trim() === '')
    if (blank >= 0)
      return `The text field in the ContentBlock object at messages.${index}.content.${blank} is blank. Add text to the text field, and try again.`
    const results = blocks.flatMap((one) => (one['toolResult'] ? [one['toolResult'].toolUseId as string] : []))
    const uses = blocks.flatMap((one) => (one['toolUse'] ? [one['toolUse'].toolUseId as string] : []))
    const missing = pendingIds.filter((one) => !results.includes(one))
    if (missing.length > 0)
      return `Expected toolResult blocks at messages.${index}.content for the following Ids: ${missing.join(', ')}`
    if (results.length > pendingIds.length)
      return `The number of toolResult blocks at messages.${index}.content exceeds the number of toolUse blocks of previous turn.`
    hasTools ||= uses.length + results.length > 0
    pendingIds = uses
  }
  if (hasTools && !body['toolConfig'])
    return 'The toolConfig field must be defined when using toolUse and toolResult content blocks.'
  return pendingIds.length > 0
    ? `Expected toolResult blocks at messages.${messages.length}.content for the following Ids: ${pendingIds.join(', ')}`
    : (strictFault('bedrock', body) ?? undefined)
}
