import { z } from 'zod'
import { inWorkspace } from '#core/access.ts'
import { area, endpoint, idOut, mediaSource, operation, stream, time, usd, words, workspaceId } from '#core/contract.ts'
import { mediaEndpoints } from '#modules/media/contract.ts'
import { usageSchema } from '#core/usage.ts'

const text = words(32 << 20)
const toolCall = {
  id: z.string().min(1).max(256),
  name: z.string().min(1).max(128),
  arguments: text.describe('JSON text.'),
}

/** Parts of a request's message. Parts of a response can be sent back unchanged. */
export const InputPart = z
  .discriminatedUnion('type', [
    z.strictObject({ type: z.literal('text'), text }),
    z.strictObject({ type: z.literal('image'), source: mediaSource }),
    z.strictObject({
      type: z.literal('file'),
      source: mediaSource,
      name: z.string().max(255).nullable().default(null),
    }),
    z.strictObject({
      type: z.literal('reasoning'),
      text,
      opaque: z
        .partialRecord(z.enum(['signature', 'redacted', 'format', 'id']), text)
        .nullable()
        .default(null),
    }),
    z.strictObject({ type: z.literal('tool_call'), ...toolCall }),
    z.strictObject({
      type: z.literal('tool_result'),
      tool_call_id: z.string().min(1).max(256),
      output: z.unknown(),
      is_error: z.boolean().default(false),
    }),
  ])
  .meta({ id: 'InputPart' })

export const InputMessage = z
  .strictObject({
    role: z.enum(['system', 'user', 'assistant', 'tool']),
    content: z.union([text, z.array(InputPart).max(1_000)]).describe('Text, or a list of parts.'),
    tool_calls: z
      .array(z.strictObject(toolCall))
      .max(256)
      .optional()
      .describe('For assistant messages: tool calls made in addition to the text.'),
    tool_call_id: z
      .string()
      .min(1)
      .max(256)
      .optional()
      .describe('For tool messages: the tool call that the text responds to.'),
  })
  .meta({ id: 'InputMessage' })

export const InputTool = z
  .strictObject({
    name: z.string().regex(/^[a-zA-Z0-9_.-]{1,128}$/, 'must be 1 to 128 characters of a-z, A-Z, 0-9, _, . and -'),
    description: text.optional(),
    parameters: z
      .record(z.string(), z.unknown())
      .default({ type: 'object', properties: {} })
      .describe('A JSON Schema.'),
    strict: z.boolean().optional(),
  })
  .meta({ id: 'InputTool' })

const ask = {
  model: z
    .string()
    .min(1)
    .max(300)
    .describe('A model listed by `GET /models`, such as `sim/echo`, or a name without a provider.'),
  messages: z
    .array(InputMessage)
    .min(1)
    .max(10_000)
    .meta({ example: [{ role: 'user', content: 'Hello' }] }),
  system: text.optional().describe('A system prompt, placed before the messages.'),
  max_output_tokens: z.int().min(1).max(10_000_000).optional(),
  temperature: z.number().min(0).max(2).optional(),
  tools: z.array(InputTool).max(512).optional(),
  tool_choice: z
    .union([z.enum(['auto', 'required', 'none']), z.strictObject({ name: z.string().min(1).max(128) })])
    .optional(),
  response_format: z
    .discriminatedUnion('type', [
      z.strictObject({ type: z.literal('text') }),
      z.strictObject({ type: z.literal('json_object') }),
      z.strictObject({
        type: z.literal('json_schema'),
        name: z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/),
        schema: z.record(z.string(), z.unknown()),
        strict: z.boolean().optional(),
      }),
    ])
    .optional(),
  workspace_id: workspaceId,
}

const OutputToolCall = z.object({
  id: z.string(),
  name: z.string(),
  arguments: z.string().describe('The arguments as JSON text, as written by the model.'),
})
export const OutputPart = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('text'), text: z.string() }),
    z.object({
      type: z.literal('reasoning'),
      text: z.string(),
      opaque: z.record(z.string(), z.string()).nullable().describe('Opaque data the provider expects back unchanged.'),
    }),
    OutputToolCall.extend({ type: z.literal('tool_call') }),
  ])
  .meta({ id: 'OutputPart' })

const answered = {
  id: idOut,
  created_at: time,
  model: z.string().describe('The platform ID of the model used.'),
  provider: z.string(),
  text: z.string().describe('The text parts of the content, joined.'),
  content: z.array(OutputPart),
  tool_calls: z.array(OutputToolCall),
  finish_reason: z.string().nullable().describe('`stop`, `length`, `tool_calls` or `content_filter`.'),
  usage: usageSchema.nullable(),
  cost_usd: usd.nullable().describe('Null for a model without a price.'),
  losses: z
    .array(z.string())
    .describe(
      'Request fields that weren’t sent to the provider, and response parts that can’t be represented here, such as `output.image`.',
    ),
}
export const TextCompletion = z.object(answered).meta({ id: 'TextCompletion' })

const failure = z.object({
  type: z.string(),
  message: z.string(),
  code: z.string().optional(),
  param: z.string().optional(),
  details: z.record(z.string(), z.unknown()).optional(),
})
export const InferenceRun = z
  .object({
    id: idOut,
    created_at: time,
    status: z.enum(['running', 'completed', 'failed', 'cancelled']),
    model: z.string(),
    provider: z.string(),
    finish_reason: z.string().nullable(),
    usage: usageSchema.nullable(),
    cost_usd: usd.nullable(),
    error: failure.nullable(),
  })
  .meta({ id: 'InferenceRun' })
export const InferenceMessage = z
  .object({
    ...answered,
    run_id: idOut,
    role: z.literal('assistant'),
    status: z.enum(['in_progress', 'completed']),
  })
  .meta({ id: 'InferenceMessage' })

const stamp = { seq: z.int().describe('The sequence number, starting at 1, without gaps.'), run_id: idOut, at: time }
const event = <const E extends string, const S extends z.ZodRawShape>(name: E, data: S) =>
  z.object({ event: z.literal(name), data: z.object({ ...stamp, ...data }) })
const delta = { message_id: idOut, index: z.int().describe('The index of the content part.'), delta: z.string() }

export const InferenceEvent = z
  .discriminatedUnion('event', [
    event('run.started', { run: InferenceRun }),
    event('message.started', { message: InferenceMessage }),
    event('text.delta', delta),
    event('reasoning.delta', delta),
    event('tool_call.started', { tool_call_id: z.string(), name: z.string() }),
    event('tool_call.delta', { tool_call_id: z.string(), delta: z.string() }),
    event('tool_call.completed', { tool_call_id: z.string(), name: z.string(), arguments: z.string() }),
    event('message.completed', { message: InferenceMessage }),
    event('usage', { usage: usageSchema, cost_usd: usd.nullable() }),
    event('run.completed', { run: InferenceRun }),
    event('run.failed', { run: InferenceRun, error: failure }),
  ])
  .meta({ id: 'InferenceEvent' })

const shared = {
  limit: 'inference',
  bodyLimit: 32 << 20,
  errors: [
    'insufficient_credits',
    'spend_cap_reached',
    'budget_reached',
    'unpriced_model',
    'context_length_exceeded',
    'unsupported_model',
    'rate_limited',
    'provider_error',
    'no_route',
    'unavailable',
    'timeout',
  ],
} as const

export const inference = area(
  'inference',
  { title: 'Inference', summary: 'Single model calls, with your own providers or with credits.' },
  {
    text: endpoint('POST /inference/text', {
      summary: 'Create a completion',
      description:
        'Returns the completion, or with `background` an operation whose `result` is the completion. The header `x-uk-route` names the provider used.',
      access: inWorkspace('inference:run'),
      ...shared,
      body: { ...ask, background: z.boolean().default(false) },
      reply: operation(TextCompletion),
    }),
    text_stream: endpoint('POST /inference/text/stream', {
      summary: 'Stream a completion',
      description:
        'Server-sent events. `run_id` is the ID of the completion. If you disconnect, you pay for what was generated by then. The stream can’t be resumed.',
      access: inWorkspace('inference:run'),
      ...shared,
      body: ask,
      reply: stream(InferenceEvent, 'caller'),
    }),
    ...mediaEndpoints,
  },
)
