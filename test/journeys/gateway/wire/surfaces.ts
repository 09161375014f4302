/** The gateway's surfaces as clients see them: requests, and what an answer contains. */
import { SseReader } from '#gateway/wire/streams/sse.ts'
import type { Answer, Caller } from '../../../server.ts'

type Json = Record<string, any>

export interface Call {
  id: string
  name: string
  arguments: string
}

export interface Turn {
  status: number
  headers: Headers
  text: string
  /** The raw answer: its JSON, or the events of its stream. */
  body: Json | null
  events: Json[]
  words: string
  calls: Call[]
  /** The assistant's message as the client sends it back. */
  history: Json[]
}

export interface ClientSurface {
  name: string
  path: string
  /** Builds a request. `history`: items or messages after the user's first message. */
  ask(model: string, words: string, history?: readonly Json[], more?: Json): Json
  tool(name: string): Json
  /** Builds results of calls in this surface's format. */
  results(results: readonly { id: string; content: string }[]): Json[]
  read(answer: Answer, stream: boolean): Turn
}

/** Calls a surface once. */
export async function call(
  by: Caller,
  surface: ClientSurface,
  body: Json,
  stream: boolean,
  headers: Record<string, string> = {},
): Promise<Turn> {
  const answer = await by.post(surface.path, { ...body, ...(stream && { stream: true }) }, headers)
  return surface.read(answer, stream)
}

export function eventsIn(text: string): Json[] {
  const reader = new SseReader()
  return [...reader.feed(Buffer.from(text)), ...reader.end()].flatMap(({ data }) =>
    data === '[DONE]' ? [] : [JSON.parse(data) as Json],
  )
}

const parameters = { type: 'object', properties: { zone: { type: 'string' } } }
const begin = ({ status, headers, text, body }: Answer, stream: boolean): Turn => ({
  status,
  headers,
  text,
  body: stream ? null : (body as Json),
  events: stream && status === 200 ? eventsIn(text) : [],
  words: '',
  calls: [],
  history: [],
})

const chat = (name: string, root: string): ClientSurface => ({
  name,
  path: `${root}/chat/completions`,
  ask: (model, words, history = [], more = {}) => ({
    model,
    messages: [{ role: 'user', content: words }, ...history],
    ...more,
  }),
  tool: (tool) => ({ type: 'function', function: { name: tool, parameters } }),
  results: (results) => results.map(({ id, content }) => ({ role: 'tool', tool_call_id: id, content })),
  read(answer, stream) {
    const turn = begin(answer, stream)
    const message: Json = stream ? joinDeltas(turn.events) : (answer.body?.choices?.[0]?.message ?? {})
    turn.words = message['content'] ?? ''
    turn.calls = (message['tool_calls'] ?? []).map(({ id, function: fn }: Json) => ({ id, ...fn }))
    turn.history = [message]
    return turn
  },
})

/** Joins the deltas of a stream into a message, as clients do. */
function joinDeltas(events: readonly Json[]): Json {
  const message: Json = { role: 'assistant', content: null }
  for (const delta of events.flatMap((event) => event['choices']?.[0]?.delta ?? [])) {
    if (typeof delta.content === 'string') message['content'] = (message['content'] ?? '') + delta.content
    for (const field of ['reasoning_content', 'reasoning'])
      if (typeof delta[field] === 'string') message[field] = (message[field] ?? '') + delta[field]
    for (const field of ['reasoning_details', 'images'])
      if (Array.isArray(delta[field])) message[field] = [...(message[field] ?? []), ...delta[field]]
    for (const piece of delta.tool_calls ?? []) {
      const calls = (message['tool_calls'] ??= [])
      const call = (calls[piece.index] ??= { id: '', type: 'function', function: { name: '', arguments: '' } })
      if (piece.id) call.id = piece.id
      if (piece.function?.name) call.function.name = piece.function.name
      call.function.arguments += piece.function?.arguments ?? ''
    }
  }
  return message
}

const responses = (name: string, root: string): ClientSurface => ({
  name,
  path: `${root}/responses`,
  ask: (model, words, history = [], more = {}) => ({
    model,
    store: false,
    include: ['reasoning.encrypted_content'],
    input: [{ role: 'user', content: words }, ...history],
    ...more,
  }),
  tool: (tool) => ({ type: 'function', name: tool, parameters }),
  results: (results) =>
    results.map(({ id, content }) => ({ type: 'function_call_output', call_id: id, output: content })),
  read(answer, stream) {
    const turn = begin(answer, stream)
    const last = turn.events.at(-1)
    const output: Json[] = (stream ? last?.['response']?.output : answer.body?.output) ?? []
    turn.history = output
    turn.words = output
      .flatMap((item) => (item['type'] === 'message' ? item['content'] : []))
      .map((part: Json) => part['text'] ?? '')
      .join('')
    turn.calls = output
      .filter((item) => item['type'] === 'function_call')
      .map((item) => ({ id: item['call_id'], name: item['name'], arguments: item['arguments'] }))
    return turn
  },
})

const messages = (name: string, root: string): ClientSurface => ({
  name,
  path: `${root}/messages`,
  ask: (model, words, history = [], more = {}) => ({
    model,
    max_tokens: 3_000,
    messages: [{ role: 'user', content: words }, ...history],
    ...more,
  }),
  tool: (tool) => ({ name: tool, input_schema: parameters }),
  results: (results) => [
    {
      role: 'user',
      content: results.map(({ id, content }) => ({ type: 'tool_result', tool_use_id: id, content })),
    },
  ],
  read(answer, stream) {
    const turn = begin(answer, stream)
    const content: Json[] = stream ? blocksOf(turn.events) : (answer.body?.content ?? [])
    turn.history = [{ role: 'assistant', content }]
    turn.words = content.map((block) => (block['type'] === 'text' ? block['text'] : '')).join('')
    turn.calls = content
      .filter((block) => block['type'] === 'tool_use')
      .map((block) => ({ id: block['id'], name: block['name'], arguments: JSON.stringify(block['input']) }))
    return turn
  },
})

/** Joins the events of a stream into blocks, as Anthropic's SDK does. */
function blocksOf(events: readonly Json[]): Json[] {
  const blocks: Json[] = []
  const inputs = new Map<number, string>()
  for (const { type, index, content_block: block, delta } of events) {
    if (type === 'content_block_start') blocks[index] = { ...block }
    if (type === 'content_block_stop' && inputs.has(index)) blocks[index]!['input'] = JSON.parse(inputs.get(index)!)
    if (type !== 'content_block_delta') continue
    const open = blocks[index]!
    if (delta.type === 'text_delta') open['text'] += delta.text
    if (delta.type === 'thinking_delta') open['thinking'] += delta.thinking
    if (delta.type === 'signature_delta') open['signature'] = delta.signature
    if (delta.type === 'input_json_delta') inputs.set(index, (inputs.get(index) ?? '') + delta.partial_json)
  }
  return blocks
}

export const surfaces: readonly ClientSurface[] = [
  chat('chat', '/compat-a/v1'),
  responses('responses', '/compat-a/v1'),
  messages('messages', '/compat-b/v1'),
  chat('OpenRouter chat', '/compat-c/v1'),
  responses('OpenRouter responses', '/compat-c/v1'),
  messages('OpenRouter messages', '/compat-c/v1'),
]
