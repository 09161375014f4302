/** Answers of each provider shape, built from the same parts. */
import type { Event, WireName } from './scripted.ts'

type Json = Record<string, any>

export interface AnswerContent {
  text?: string
  calls?: readonly { id: string; name: string; arguments: string }[]
}

interface WireAnswer {
  whole: Json
  events: Event[]
}

const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }

function chat({ text = '', calls = [] }: AnswerContent): WireAnswer {
  const finish_reason = calls.length > 0 ? 'tool_calls' : 'stop'
  const tool_calls = calls.map(({ id, name, arguments: words }, index) => ({
    index,
    id,
    type: 'function',
    function: { name, arguments: words },
  }))
  const head = { id: 'c1', created: 1, model: 'm' }
  const chunk = (delta: Json, finish: string | null = null, more: Json = {}) => ({
    ...head,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason: finish }],
    ...more,
  })
  const content = text === '' ? null : text
  const message = { role: 'assistant', content, ...(calls.length > 0 && { tool_calls }) }
  return {
    whole: { ...head, object: 'chat.completion', choices: [{ index: 0, message, finish_reason }], usage },
    events: [
      chunk({ role: 'assistant', content }),
      ...tool_calls.map((call) => chunk({ tool_calls: [call] })),
      chunk({}, finish_reason, { usage }),
    ],
  }
}

function responses({ text = '', calls = [] }: AnswerContent): WireAnswer {
  const output: Json[] = [
    ...(text === ''
      ? []
      : [
          {
            id: 'msg_1',
            type: 'message',
            role: 'assistant',
            status: 'completed',
            content: [{ type: 'output_text', text, annotations: [] }],
          },
        ]),
    ...calls.map(({ id, name, arguments: words }, i) => ({
      id: `fc_${i}`,
      type: 'function_call',
      status: 'completed',
      call_id: id,
      name,
      arguments: words,
    })),
  ]
  const head = { id: 'resp_1', object: 'response', created_at: 1, model: 'm', error: null }
  const whole = {
    ...head,
    status: 'completed',
    output,
    usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
  }
  const items = output.flatMap((item, output_index): Event[] => {
    const addedEvent = { type: 'response.output_item.added', output_index, item: { ...item, status: 'in_progress' } }
    const doneEvent = { type: 'response.output_item.done', output_index, item }
    if (item['type'] === 'message')
      return [
        { ...addedEvent, item: { ...addedEvent.item, content: [] } },
        { type: 'response.output_text.delta', output_index, content_index: 0, item_id: 'msg_1', delta: text },
        doneEvent,
      ]
    const delta = { type: 'response.function_call_arguments.delta', output_index, delta: item['arguments'] }
    return [{ ...addedEvent, item: { ...addedEvent.item, arguments: '' } }, delta, doneEvent]
  })
  return {
    whole,
    events: [
      { type: 'response.created', response: { ...head, status: 'in_progress', output: [] } },
      ...items,
      { type: 'response.completed', response: whole },
    ],
  }
}

function anthropic({ text = '', calls = [] }: AnswerContent): WireAnswer {
  const stop_reason = calls.length > 0 ? 'tool_use' : 'end_turn'
  const content: Json[] = [
    ...(text === '' ? [] : [{ type: 'text', text }]),
    ...calls.map(({ id, name, arguments: words }) => ({ type: 'tool_use', id, name, input: objectOr(words) })),
  ]
  const head = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', stop_sequence: null }
  const usage = { input_tokens: 10, output_tokens: 5 }
  const blocks = content.flatMap((block, index): Event[] => {
    const isText = block['type'] === 'text'
    const delta = isText
      ? { type: 'text_delta', text }
      : { type: 'input_json_delta', partial_json: calls[index - (text === '' ? 0 : 1)]!.arguments }
    return [
      { type: 'content_block_start', index, content_block: isText ? { ...block, text: '' } : { ...block, input: {} } },
      { type: 'content_block_delta', index, delta },
      { type: 'content_block_stop', index },
    ]
  })
  return {
    whole: { ...head, content, stop_reason, usage },
    events: [
      { type: 'message_start', message: { ...head, content: [], stop_reason: null, usage: usage } },
      ...blocks,
      { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: usage },
      { type: 'message_stop' },
    ],
  }
}

function gemini({ text = '', calls = [] }: AnswerContent): WireAnswer {
  const parts: Json[] = [
    ...(text === '' ? [] : [{ text }]),
    ...calls.map(({ id, name, arguments: words }) => ({ functionCall: { id, name, args: objectOr(words) } })),
  ]
  const whole = {
    candidates: [{ finishReason: 'STOP', content: { role: 'model', parts } }],
    usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 },
  }
  return { whole, events: [whole] }
}

function converse({ text = '', calls = [] }: AnswerContent): WireAnswer {
  const stopReason = calls.length > 0 ? 'tool_use' : 'end_turn'
  const usage = { inputTokens: 10, outputTokens: 5, totalTokens: 15 }
  const content: Json[] = [
    ...(text === '' ? [] : [{ text }]),
    ...calls.map(({ id, name, arguments: words }) => ({ toolUse: { toolUseId: id, name, input: objectOr(words) } })),
  ]
  const first = text === '' ? 0 : 1
  return {
    whole: { output: { message: { role: 'assistant', content } }, stopReason, usage: usage },
    events: [
      ['messageStart', { role: 'assistant' }],
      ...(text === ''
        ? []
        : ([
            ['contentBlockDelta', { contentBlockIndex: 0, delta: { text } }],
            ['contentBlockStop', { contentBlockIndex: 0 }],
          ] as Event[])),
      ...calls.flatMap(({ id, name, arguments: words }, i): Event[] => [
        ['contentBlockStart', { contentBlockIndex: first + i, start: { toolUse: { toolUseId: id, name } } }],
        ['contentBlockDelta', { contentBlockIndex: first + i, delta: { toolUse: { input: words } } }],
        ['contentBlockStop', { contentBlockIndex: first + i }],
      ]),
      ['messageStop', { stopReason }],
      ['metadata', { usage: usage, metrics: { latencyMs: 1 } }],
    ],
  }
}

/** Shapes with arguments as objects can't hold other arguments unchanged. */
function objectOr(words: string): Json {
  try {
    const value: unknown = JSON.parse(words)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}
  } catch {
    return {}
  }
}

export const answers: Record<WireName, (content: AnswerContent) => WireAnswer> = {
  chat,
  responses,
  anthropic,
  gemini,
  ollama: chat,
  converse,
}
