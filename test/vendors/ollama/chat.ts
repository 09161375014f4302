// Ollama's two chat shapes: its own NDJSON (/api/chat), and the OpenAI-compatible one derived from it.
import type { Flow, Frame, Whole } from '../delivery/deliver.ts'
import { id, tokens, type Plan } from '../delivery/plan.ts'
import type { Json } from '../vendor.ts'

/** The last message is done and carries the counts. */
export function nativeChunks(plan: Plan, model: string, finish: string): Json[] {
  const chunk = (message: Json): Json => ({
    model,
    created_at: now(),
    message: { role: 'assistant', content: '', ...message },
    done: false,
  })
  return [
    ...tokens(plan.reasoning).map((thinking) => chunk({ thinking })),
    ...tokens(plan.text).map((content) => chunk({ content })),
    ...plan.tools.map((call, index) => chunk({ tool_calls: [nativeCall(call, index)] })),
    {
      model,
      created_at: now(),
      message: { role: 'assistant', content: '' },
      done: true,
      done_reason: finish,
      ...counts(plan),
    },
  ]
}

export function nativeWhole(plan: Plan, model: string, finish: string): Whole {
  const calls = plan.tools.map(nativeCall)
  const message = {
    role: 'assistant',
    content: plan.text,
    ...(plan.reasoning ? { thinking: plan.reasoning } : {}),
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  }
  return { status: 200, body: { model, created_at: now(), message, done: true, done_reason: finish, ...counts(plan) } }
}

export function nativeStream(plan: Plan, model: string, finish: string): Flow {
  const frames = nativeChunks(plan, model, finish).map((data): Frame => ({ data }))
  return {
    format: 'ndjson',
    frames,
    opening: 0,
    closing: 1,
    failure: ({ message }) => [{ data: { error: message ?? unknownError } }],
  }
}

/** `/api/generate` has the same data under other names. */
function asGenerated({ message, ...rest }: Json): Json {
  const { content, thinking } = message as Json
  return { ...rest, response: content, ...(thinking ? { thinking } : {}) }
}

export function generatedWhole(plan: Plan, model: string, finish: string): Whole {
  return { status: 200, body: asGenerated(nativeWhole(plan, model, finish).body as Json) }
}

export function generatedStream(plan: Plan, model: string, finish: string): Flow {
  const frames = nativeChunks(plan, model, finish).map((data): Frame => ({ data: asGenerated(data) }))
  return { ...nativeStream(plan, model, finish), frames }
}

const unknownError = 'an error was encountered while running the model'

export function compatWhole(plan: Plan, model: string, finish: string): Whole {
  const calls = plan.tools.map(compatCall)
  const message = {
    role: 'assistant',
    content: plan.text,
    ...(plan.reasoning ? { reasoning: plan.reasoning } : {}),
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  }
  const finish_reason = finish === 'stop' && calls.length > 0 ? 'tool_calls' : finish
  const choices = [{ index: 0, message, finish_reason }]
  return { status: 200, body: { ...headOf(model, 'chat.completion'), choices, usage: usageOf(plan) } }
}

export function compatStream(plan: Plan, model: string, finish: string, wantsUsage: boolean): Flow {
  const head = headOf(model, 'chat.completion.chunk')
  const chunk = (delta: Json, finish_reason: string | null = null): Frame => ({
    data: { ...head, choices: [{ index: 0, delta, finish_reason }] },
  })
  const deltas: Json[] = [
    ...tokens(plan.reasoning).map((reasoning) => ({ content: '', reasoning })),
    ...tokens(plan.text).map((content) => ({ content })),
    ...plan.tools.map((call, index) => ({ content: '', tool_calls: [compatCall(call, index)] })),
  ]
  if (deltas.length === 0) deltas.push({ content: '' })
  const frames = deltas.map((delta, n) => chunk(n === 0 ? { role: 'assistant', ...delta } : delta))
  frames.push(chunk({}, finish === 'stop' && plan.tools.length > 0 ? 'tool_calls' : finish))
  if (wantsUsage) frames.push({ data: { ...head, choices: [], usage: usageOf(plan) } })
  frames.push({ data: '[DONE]' })
  return { format: 'sse', frames, opening: 0, closing: wantsUsage ? 3 : 2, failure: () => [emptyChunk(head)] }
}

/** Ollama reads its own error line as an empty message: a chunk without a model, then the stream just ends. */
function emptyChunk(head: Json): Frame {
  return { data: { ...head, model: '', choices: [{ index: 0, delta: { content: '' }, finish_reason: null }] } }
}

function nativeCall(call: Plan['tools'][number], index: number): Json {
  return { id: call.id ?? callId(), function: { index, name: call.name, arguments: argumentsOf(call.arguments) } }
}

/** Always whole: the arguments never come in pieces. */
function compatCall(call: Plan['tools'][number], index: number): Json {
  const argumentsText = JSON.stringify(argumentsOf(call.arguments))
  return { id: call.id ?? callId(), index, type: 'function', function: { name: call.name, arguments: argumentsText } }
}

function argumentsOf(raw: string): Json {
  try {
    return JSON.parse(raw) as Json
  } catch {
    return {}
  }
}

function callId(): string {
  return id('call_', 8).toLowerCase()
}

function headOf(model: string, object: string): Json {
  const createdAt = Math.floor(Date.now() / 1000)
  return { id: `chatcmpl-${createdAt % 999}`, object, created: createdAt, model, system_fingerprint: 'fp_ollama' }
}

function usageOf({ usage }: Plan): Json {
  return { prompt_tokens: usage.input, completion_tokens: usage.output, total_tokens: usage.input + usage.output }
}

function counts({ usage }: Plan): Json {
  return {
    total_duration: 42_000_000,
    load_duration: 1_000_000,
    prompt_eval_count: usage.input,
    prompt_eval_duration: 11_000_000,
    eval_count: usage.output,
    eval_duration: 30_000_000,
  }
}

function now(): string {
  return new Date().toISOString()
}
