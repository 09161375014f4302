// Anthropic's message, whole or as a stream of events (compat.md 3.3 and 3.4).
import type { Frame } from '../delivery/deliver.ts'
import { id, tokens, type Plan } from '../delivery/plan.ts'
import type { Json } from '../vendor.ts'

export type Ending = { reason: string; sequence: string | null }

/** `container`: the one named in the request. */
export function messageOf(plan: Plan, model: string, ending: Ending, hidesThinking: boolean, container?: string): Json {
  return {
    id: id('msg_01', 22),
    type: 'message',
    role: 'assistant',
    model,
    content: contentOf(plan, hidesThinking),
    stop_reason: ending.reason,
    stop_sequence: ending.sequence,
    stop_details: detailsOf(ending, plan.refusal ?? null),
    container: container === undefined ? null : { id: container, expires_at: '2099-01-01T00:00:00Z', skills: null },
    diagnostics: null,
    usage: usageOf(plan),
  }
}

/** With thinking.display omitted, only the signature is shown. */
export function eventsOf(message: Json, plan: Plan): Frame[] {
  const startMessage = { ...message, content: [], stop_reason: null, stop_sequence: null, stop_details: null }
  const usage = message['usage'] as Json
  return [
    event({
      type: 'message_start',
      message: { ...startMessage, usage: { ...usage, output_tokens: 1, output_tokens_details: null } },
    }),
    event({ type: 'ping' }),
    ...(message['content'] as Json[]).flatMap((block, index) => blockEvents(block, index, plan)),
    event({
      type: 'message_delta',
      delta: {
        stop_reason: message['stop_reason'],
        stop_sequence: message['stop_sequence'],
        stop_details: message['stop_details'],
        container: message['container'],
      },
      usage: {
        input_tokens: usage['input_tokens'],
        cache_creation_input_tokens: usage['cache_creation_input_tokens'],
        cache_read_input_tokens: usage['cache_read_input_tokens'],
        output_tokens: usage['output_tokens'],
        output_tokens_details: usage['output_tokens_details'],
        server_tool_use: null,
      },
    }),
    event({ type: 'message_stop' }),
  ]
}

export function event(data: Json): Frame {
  return { event: data['type'], data }
}

function blockEvents(block: Json, index: number, plan: Plan): Frame[] {
  const { empty, deltas } = openBlock(block, plan)
  return [
    event({ type: 'content_block_start', index, content_block: empty }),
    ...deltas.map((delta) => event({ type: 'content_block_delta', index, delta })),
    event({ type: 'content_block_stop', index }),
  ]
}

function openBlock(block: Json, plan: Plan): { empty: Json; deltas: Json[] } {
  if (block['type'] === 'thinking') {
    const thoughts = tokens(block['thinking']).map((thinking) => ({ type: 'thinking_delta', thinking }))
    const signatureDelta = { type: 'signature_delta', signature: block['signature'] }
    return { empty: { type: 'thinking', thinking: '', signature: '' }, deltas: [...thoughts, signatureDelta] }
  }
  if (block['type'] === 'text') {
    const deltas = tokens(block['text']).map((text) => ({ type: 'text_delta', text }))
    return { empty: { type: 'text', text: '', citations: null }, deltas }
  }
  // A scripted call may carry broken JSON, which streams unchanged.
  const raw = plan.tools.find((call) => call.id === block['id'])?.arguments ?? JSON.stringify(block['input'])
  const pieces = raw === '{}' ? [] : tokens(raw)
  const deltas = ['', ...pieces].map((partial_json) => ({ type: 'input_json_delta', partial_json }))
  return { empty: { ...block, input: {} }, deltas }
}

function contentOf(plan: Plan, hidesThinking: boolean): Json[] {
  const content: Json[] = []
  if (plan.reasoning) {
    content.push({ type: 'thinking', thinking: hidesThinking ? '' : plan.reasoning, signature: plan.signature })
  }
  if (plan.text) content.push({ type: 'text', text: plan.text, citations: null })
  for (const call of plan.tools) {
    call.id ??= id('toolu_01', 22)
    content.push({
      type: 'tool_use',
      id: call.id,
      name: call.name,
      input: inputOf(call.arguments),
      caller: { type: 'direct' },
    })
  }
  return content
}

function inputOf(raw: string): Json {
  try {
    return JSON.parse(raw) as Json
  } catch {
    return {}
  }
}

function usageOf({ usage }: Plan): Json {
  return {
    input_tokens: Math.max(0, usage.input - usage.cached - usage.cacheWrite),
    output_tokens: usage.output,
    cache_creation_input_tokens: usage.cacheWrite,
    cache_read_input_tokens: usage.cached,
    cache_creation: { ephemeral_5m_input_tokens: usage.cacheWrite, ephemeral_1h_input_tokens: 0 },
    output_tokens_details: usage.reasoning > 0 ? { thinking_tokens: usage.reasoning } : null,
    server_tool_use: null,
    service_tier: 'standard',
    speed: null,
    inference_geo: null,
  }
}

function detailsOf({ reason }: Ending, explanation: string | null): Json | null {
  return reason === 'refusal' ? { type: 'refusal', category: null, explanation } : null
}
