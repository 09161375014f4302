import type { z } from 'zod'
import type { Input } from '#core/contract.ts'
import { refuse } from '#core/errors.ts'
import type { Tool, CanonicalRequest, CanonicalMessage, CanonicalPart } from '#gateway/model/canonical-request.ts'
import type { InputMessage, InputPart, inference } from './contract.ts'

export type TextInput = Omit<Input<(typeof inference.endpoints)['text_stream']>, 'workspace_id'>

/** Converts a request to a CanonicalRequest, the intermediate form of every translation. */
export function turnOf({
  model,
  messages,
  system,
  max_output_tokens,
  temperature,
  tools,
  tool_choice,
  response_format,
}: TextInput): CanonicalRequest {
  const turn: CanonicalRequest = {
    model,
    messages: [
      ...(system === undefined
        ? []
        : [{ role: 'system' as const, content: [{ type: 'text' as const, text: system }] }]),
      ...messages.map(messageOf),
    ],
  }
  if (max_output_tokens !== undefined) turn.max_output_tokens = max_output_tokens
  if (temperature !== undefined) turn.temperature = temperature
  if (tools !== undefined) turn.tools = tools.map(withoutGaps)
  if (tool_choice !== undefined) turn.tool_choice = tool_choice
  if (response_format !== undefined) turn.response_format = withoutGaps(response_format)
  return turn
}

function messageOf(
  { role, content, tool_calls, tool_call_id }: z.output<typeof InputMessage>,
  index: number,
): CanonicalMessage {
  const wrong = (field: string, message: string): never =>
    refuse('invalid_parameter', { param: `messages.${index}.${field}`, message })
  if (tool_calls !== undefined && role !== 'assistant')
    wrong('tool_calls', '`tool_calls` is allowed only in assistant messages.')
  if (tool_call_id !== undefined && role !== 'tool')
    wrong('tool_call_id', '`tool_call_id` is allowed only in tool messages.')
  if (typeof content === 'string' && role === 'tool') {
    const id = tool_call_id ?? wrong('tool_call_id', 'A tool message with plain text requires `tool_call_id`.')
    return { role, content: [{ type: 'tool_result', id, content: [{ type: 'text', text: content }], is_error: false }] }
  }
  const parts =
    typeof content === 'string'
      ? content === '' && tool_calls?.length
        ? []
        : [{ type: 'text' as const, text: content }]
      : content.map(partOf)
  const stray = parts.find((part) => !belongs(part, role))
  if (stray) wrong('content', `A part of type ${stray.type} isn’t allowed in a message with the role ${role}.`)
  return { role, content: [...parts, ...(tool_calls ?? []).map((call) => ({ type: 'tool_call' as const, ...call }))] }
}

function belongs({ type }: CanonicalPart, role: CanonicalMessage['role']): boolean {
  if (type === 'tool_result') return role === 'tool'
  if (role === 'tool') return false
  return (
    type === 'text' ||
    (type === 'image' || type === 'file' ? role === 'user' || role === 'assistant' : role === 'assistant')
  )
}

function partOf(part: z.output<typeof InputPart>): CanonicalPart {
  switch (part.type) {
    case 'text':
    case 'image':
    case 'tool_call':
      return part
    case 'file':
      return { type: 'file', source: part.source, ...(part.name !== null && { name: part.name }) }
    case 'reasoning':
      return { type: 'reasoning', text: part.text, ...part.opaque }
    case 'tool_result': {
      const text = typeof part.output === 'string' ? part.output : JSON.stringify(part.output ?? null)
      return { type: 'tool_result', id: part.tool_call_id, content: [{ type: 'text', text }], is_error: part.is_error }
    }
  }
}

/** In a CanonicalRequest a missing field is absent, not undefined. (`fromEntries` loses the field names.) */
type Whole<T> = { [K in keyof T]: Exclude<T[K], undefined> }
const withoutGaps = <T extends object>(value: T): Whole<T> & (T extends { parameters: object } ? Tool : unknown) =>
  Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as never
