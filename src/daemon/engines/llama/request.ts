/**
 * OpenAI's chat completions as supported by this engine. Unsupported fields are rejected by name, never ignored.
 * Pure.
 */
import { z } from 'zod'
import { BadRequest } from '../answer-socket.ts'
import type { HistoryItem } from './binding.ts'

const text = z.union([
  z.string(),
  z
    .array(z.object({ type: z.literal('text'), text: z.string() }))
    .transform((parts) => parts.map((part) => part.text).join('')),
])
const Message = z.discriminatedUnion('role', [
  z.object({ role: z.literal('system'), content: text }),
  z.object({ role: z.literal('developer'), content: text }),
  z.object({ role: z.literal('user'), content: text }),
  z.object({
    role: z.literal('assistant'),
    content: text.nullish(),
    tool_calls: z
      .array(
        z.object({
          id: z.string(),
          type: z.literal('function'),
          function: z.object({ name: z.string(), arguments: z.string() }),
        }),
      )
      .optional(),
  }),
  z.object({ role: z.literal('tool'), content: text, tool_call_id: z.string() }),
])

export const ChatRequest = z.object({
  messages: z.array(Message).min(1),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
  max_tokens: z.number().int().min(1).nullish(),
  max_completion_tokens: z.number().int().min(1).nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  seed: z.number().int().nullish(),
  stop: z.union([z.string(), z.array(z.string()).max(16)]).nullish(),
  frequency_penalty: z.number().min(-2).max(2).nullish(),
  presence_penalty: z.number().min(-2).max(2).nullish(),
  n: z.literal(1).nullish(),
  logprobs: z.literal(false).nullish(),
  tools: z
    .array(
      z.object({
        type: z.literal('function'),
        function: z.object({
          name: z.string(),
          description: z.string().nullish(),
          parameters: z.record(z.string(), z.unknown()).nullish(),
        }),
      }),
    )
    .nullish(),
  tool_choice: z.enum(['auto', 'none']).nullish(),
  response_format: z
    .discriminatedUnion('type', [
      z.object({ type: z.literal('text') }),
      z.object({ type: z.literal('json_object') }),
      z.object({
        type: z.literal('json_schema'),
        json_schema: z.object({ name: z.string(), schema: z.record(z.string(), z.unknown()) }),
      }),
    ])
    .nullish(),
})
export type ChatRequest = z.output<typeof ChatRequest>

export const EmbeddingsRequest = z.object({
  input: z.union([z.string(), z.array(z.string()).min(1).max(2_048)]),
  encoding_format: z.enum(['float', 'base64']).nullish(),
  dimensions: z.undefined({ error: 'This model has a fixed embedding size. Leave out `dimensions`.' }).optional(),
})

/** Parses a body. Throws `BadRequest` with the path of the first invalid field. */
export function parseBody<T extends z.ZodType>(schema: T, body: string): z.output<T> {
  let json: unknown
  try {
    json = JSON.parse(body)
  } catch {
    throw new BadRequest('The request body isn’t valid JSON.', null)
  }
  const result = schema.safeParse(json)
  if (result.success) return result.data
  const [issue] = result.error.issues
  throw new BadRequest(issue!.message, issue!.path.join('.') || null)
}

/** Converts messages to the engine's history, where a response with its tool calls and results is one model turn. */
export function history(messages: ChatRequest['messages']): HistoryItem[] {
  const results = new Map(
    messages.flatMap((message) => (message.role === 'tool' ? [[message.tool_call_id, message.content] as const] : [])),
  )
  const items: HistoryItem[] = []
  for (const message of messages) {
    switch (message.role) {
      case 'system':
      case 'developer':
        items.push({ type: 'system', text: message.content })
        break
      case 'user':
        items.push({ type: 'user', text: message.content })
        break
      case 'assistant': {
        const calls = (message.tool_calls ?? []).map(({ id, function: { name, arguments: given } }) => ({
          type: 'functionCall' as const,
          name,
          params: parsed(given),
          result: parsed(results.get(id) ?? ''),
        }))
        const parts = [...(message.content ? [message.content] : []), ...calls]
        const last = items.at(-1)
        if (last?.type === 'model') last.response.push(...parts)
        else items.push({ type: 'model', response: parts })
        break
      }
      // Results are part of their call.
      case 'tool':
        break
    }
  }
  // The engine continues the last model turn; after a tool result that is the turn with the call.
  if (items.at(-1)?.type !== 'model') items.push({ type: 'model', response: [] })
  return items
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return json
  }
}
