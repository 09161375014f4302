// The output items of POST /v1/responses, and their stream events (openai 7.55.0 types, compat.md 2.5).
import { id, tokens, type Plan } from '../delivery/plan.ts'
import type { Json } from '../vendor.ts'

/** The form of an answer: what the request asked to see, and its tools. */
export type Wish = {
  /** `reasoning.summary` was requested. */
  summary: boolean
  /** An open model that shows its reasoning as text. */
  reasoningText: boolean
  /** `include` contains `reasoning.encrypted_content`. */
  encrypted: boolean
  /** Names of custom (free text) tools. */
  custom: Set<string>
  /** Tool name → its namespace. */
  namespaces: Map<string, string>
  logprobs: boolean
}

export function itemsOf(plan: Plan, wish: Wish, status: string): Json[] {
  const items: Json[] = []
  if (plan.reasoning !== '') items.push(thoughtOf(plan, wish))
  if (plan.text !== '' || plan.refusal !== undefined || plan.tools.length === 0)
    items.push(messageOf(plan, wish, status))
  for (const call of plan.tools) items.push(callOf(call, wish))
  return items
}

function thoughtOf(plan: Plan, wish: Wish): Json {
  return {
    id: id('rs_', 48),
    type: 'reasoning',
    summary: wish.summary ? [{ type: 'summary_text', text: plan.reasoning }] : [],
    ...(wish.reasoningText && { content: [{ type: 'reasoning_text', text: plan.reasoning }] }),
    ...(wish.encrypted && { encrypted_content: plan.signature }),
  }
}

function messageOf(plan: Plan, wish: Wish, status: string): Json {
  const content: Json[] = []
  if (plan.refusal !== undefined) content.push({ type: 'refusal', refusal: plan.refusal })
  else {
    const annotations = plan.citations.map((one) => ({ type: 'url_citation', ...one }))
    content.push({
      type: 'output_text',
      text: plan.text,
      annotations,
      logprobs: wish.logprobs ? likely(plan.text) : [],
    })
  }
  return { id: id('msg_', 48), type: 'message', status, role: 'assistant', content }
}

function callOf(call: Plan['tools'][number], wish: Wish): Json {
  const call_id = call.id ?? id('call_')
  const namespace = wish.namespaces.get(call.name)
  const callFields = { call_id, name: call.name, ...(namespace !== undefined && { namespace }) }
  if (wish.custom.has(call.name))
    return { id: id('ctc_', 48), type: 'custom_tool_call', status: 'completed', ...callFields, input: call.arguments }
  return { id: id('fc_', 48), type: 'function_call', status: 'completed', ...callFields, arguments: call.arguments }
}

const likely = (text: string): Json[] =>
  tokens(text).map((token) => ({ token, logprob: -0.01, bytes: [...Buffer.from(token)], top_logprobs: [] }))

/** Everything between `response.in_progress` and the end, without sequence numbers. */
export function eventsOf(items: Json[]): Json[] {
  return items.flatMap((item, output_index) => {
    const at = { item_id: item['id'] as string, output_index }
    const inside = { message: messageEvents, reasoning: thoughtEvents }[item['type'] as string] ?? callEvents
    return [
      { type: 'response.output_item.added', output_index, item: { ...emptyItem(item), ...startFields(item) } },
      ...inside(item, at),
      { type: 'response.output_item.done', output_index, item },
    ]
  })
}

/** Reasoning items have no status. */
const startFields = (item: Json): Json => ('status' in item ? { status: 'in_progress' } : {})

/** An item at its start. */
function emptyItem(item: Json): Json {
  const empty: Json = { ...item }
  for (const name of ['content', 'summary']) if (name in item) empty[name] = []
  for (const name of ['arguments', 'input']) if (name in item) empty[name] = ''
  // The sealed content is known when the reasoning ends.
  if (item['type'] === 'reasoning' && 'encrypted_content' in item) empty['encrypted_content'] = ''
  return empty
}

function messageEvents(item: Json, at: Json): Json[] {
  return (item['content'] as Json[]).flatMap((part, content_index) => {
    const here = { ...at, content_index }
    const refuses = part['type'] === 'refusal'
    const field = refuses ? 'refusal' : 'text'
    const name = refuses ? 'response.refusal' : 'response.output_text'
    const hasLogprobs = part['logprobs']?.length > 0
    const more = (pieces: string): Json => (refuses ? {} : { logprobs: hasLogprobs ? likely(pieces) : [] })
    const annotationEvents = ((part['annotations'] ?? []) as Json[]).map((annotation, annotation_index) => ({
      type: 'response.output_text.annotation.added',
      ...here,
      annotation_index,
      annotation,
    }))
    return [
      {
        type: 'response.content_part.added',
        ...here,
        part: refuses ? { ...part, refusal: '' } : { ...part, text: '', annotations: [], logprobs: [] },
      },
      ...tokens(part[field]).map((delta) => ({ type: `${name}.delta`, ...here, delta, ...more(delta) })),
      ...annotationEvents,
      { type: `${name}.done`, ...here, [field]: part[field], ...more(part[field]) },
      { type: 'response.content_part.done', ...here, part },
    ]
  })
}

function thoughtEvents(item: Json, at: Json): Json[] {
  const summaries = (item['summary'] as Json[]).flatMap((part, summary_index) => {
    const here = { ...at, summary_index }
    return [
      { type: 'response.reasoning_summary_part.added', ...here, part: { ...part, text: '' } },
      ...tokens(part['text']).map((delta) => ({ type: 'response.reasoning_summary_text.delta', ...here, delta })),
      { type: 'response.reasoning_summary_text.done', ...here, text: part['text'] },
      { type: 'response.reasoning_summary_part.done', ...here, part },
    ]
  })
  const texts = ((item['content'] ?? []) as Json[]).flatMap((part, content_index) => {
    const here = { ...at, content_index }
    return [
      { type: 'response.content_part.added', ...here, part: { ...part, text: '' } },
      ...tokens(part['text']).map((delta) => ({ type: 'response.reasoning_text.delta', ...here, delta })),
      { type: 'response.reasoning_text.done', ...here, text: part['text'] },
      { type: 'response.content_part.done', ...here, part },
    ]
  })
  return [...summaries, ...texts]
}

function callEvents(item: Json, at: Json): Json[] {
  const custom = item['type'] === 'custom_tool_call'
  const field = custom ? 'input' : 'arguments'
  const name = custom ? 'response.custom_tool_call_input' : 'response.function_call_arguments'
  return [
    ...tokens(item[field]).map((delta) => ({ type: `${name}.delta`, ...at, delta })),
    { type: `${name}.done`, ...at, [field]: item[field], ...(!custom && { name: item['name'] }) },
  ]
}
