// Anthropic on loopback: messages, token counts, and models, in the API versions 2023-06-01 and 2026-10-21.
//
// Sources: compat.md 3.1-3.6; the types of @anthropic-ai/sdk 1.11.0 and 0.137.0; issue trackers for the words of
// errors.
//
// Unknown, so not played or only guessed:
// - whether 2026-10-21 still accepts x-api-key (compat.md says to accept both headers under both versions: played so)
// - the words of the 400 for temperature/top_p/top_k, documents in assistant messages, and citations under 2026-10-21
// - which beta each beta-only field needs (any non-empty anthropic-beta opens all of them but `thread`); ranges of
//   top_k
// - which models reject a prefill, temperature, or old thinking budgets (set `prefill: false` on a model for the first)
// - whether response shapes differ between the versions (the SDK types show none: played the same)
// - where pings come after the first one; fields inside typed server tools, output_config, and image sources (not read)
// - null for fields that aren't marked nullable (rejected); whether two equal anthropic-version headers are joined and
//   rejected (according to an issue: played)
// - whether tool_result blocks may follow other blocks (compat.md: they come first; rejected otherwise)
// - whether `redacted_thinking` and citations are ever sent unrequested (never here); batches, files, skills: answer
//   404
import { AnthropicStore, previousOf } from './store.ts'
import { conflict, messageRequest, versions, faultMessage } from './rules.ts'
import { event, eventsOf, messageOf, type Ending } from './message.ts'
import type { Answer, Flow, Frame, Whole } from '../delivery/deliver.ts'
import { id, lastText, parse, planOf, weigh, type Plan } from '../delivery/plan.ts'
import { check } from '../rules.ts'
import { failsFirst, serve, type Call } from '../server.ts'
import type { Behaviour, Json, StoredObject, MidStreamError, Options, Refusal, Vendor } from '../vendor.ts'

export type AnthropicModel = {
  id: string
  name?: string
  line?: 'haiku' | 'sonnet' | 'opus'
  context?: number
  output?: number
  /** `false`: a trailing assistant message is rejected. */
  prefill?: boolean
}

const models: AnthropicModel[] = [
  { id: 'claude-opus-5-5', name: 'Claude Opus 5.5', line: 'opus' },
  { id: 'claude-sonnet-5-5', name: 'Claude Sonnet 5.5', line: 'sonnet' },
  { id: 'claude-haiku-4-5', name: 'Claude Haiku 4.5', line: 'haiku' },
]

export async function startAnthropic(options: Options<AnthropicModel> = {}): Promise<Vendor> {
  const key = options.key ?? 'sk-ant-loopback'
  const shop = new Anthropic(options.models ?? models, key, options.keys)
  return await serve({
    key,
    shelf: shop.store.shelf,
    otherwise: options.otherwise,
    answer: (call) => shop.answer(call),
    failure: ({ status, type, code, message }, call) => problem(call, status, message, type, code),
    refusals,
    headers: (call) => ({
      'request-id': requestId(call),
      'anthropic-organization-id': '00000000-0000-4000-8000-000000000000',
      'anthropic-workspace-id': 'wrkspc_loopback',
      ...rateLimits(),
    }),
  })
}

/** Also used for Bedrock and Vertex, which authenticate in their own way. */
export class Anthropic {
  readonly models: AnthropicModel[]
  readonly key: string
  readonly keys: string[]
  readonly store: AnthropicStore

  constructor(list: AnthropicModel[], key = '', keys: string[] = []) {
    this.models = list
    this.key = key
    this.keys = [key, ...keys]
    this.store = new AnthropicStore(key)
  }

  answer(call: Call): Answer {
    const { method, path } = call
    const { headers } = call.request
    const apiKey = headers['x-api-key'] ?? /^Bearer (.+)$/i.exec(headers.authorization ?? '')?.[1]
    if (apiKey === undefined) return problem(call, 401, 'x-api-key header is required')
    if (!this.keys.includes(String(apiKey))) return problem(call, 401, 'invalid x-api-key')
    call.key = String(apiKey)
    const version = headers['anthropic-version']
    if (version === undefined) return problem(call, 400, 'anthropic-version: header is required')
    if (!versions.includes(String(version))) {
      return problem(call, 400, `anthropic-version: "${String(version)}" is not a valid version`)
    }
    if (method === 'POST' && path === '/v1/messages') return this.#messages(call, String(version))
    if (method === 'POST' && path === '/v1/messages/count_tokens') return this.#count(call, String(version))
    if (method === 'GET' && path === '/v1/models') return this.#list(call)
    if (method === 'GET' && path.startsWith('/v1/models/')) return this.#one(call, decodeURIComponent(path.slice(11)))
    return problem(call, 404, 'Not found')
  }

  #messages(call: Call, version: string): Answer {
    const body = parse(call.request.body)
    if (!body) return problem(call, 400, 'The request body is not valid JSON.')
    return this.speak(call, body, version, betasOf(call))
  }

  speak(call: Call, json: Json, version: string, betas: string[]): Whole | Flow {
    const parsedRequest = this.#read(call, json, version, betas)
    if ('refusal' in parsedRequest) return parsedRequest.refusal
    const { body, model, kept: storedFiles } = parsedRequest
    const texts = storedFiles.map(({ text }) => text)
    call.request.seen = { messages: body['messages'], limit: body['max_tokens'], read: storedFiles }
    const thinks = ['enabled', 'adaptive'].includes(body['thinking']?.type)
    const plan = planOf({
      behaviour: call.behaviour,
      echo: [lastText(body['messages']), ...texts].join('\n'),
      prompt: [body['system'], body['messages'], body['tools'], texts],
      limit: body['max_tokens'],
      forced: forcedTool(body),
      thinks,
      json: body['output_config']?.format?.type === 'json_schema',
    })
    const ending = endingOf(plan, call.behaviour)
    if (body['max_tokens'] === 0)
      Object.assign(plan, { text: '', reasoning: '', tools: [], usage: { ...plan.usage, output: 0 } })
    const container = storedFiles.find(({ kind }) => kind === 'container')?.id
    const message = messageOf(plan, model.id, ending, body['thinking']?.display === 'omitted', container)
    if (!failsFirst(call.behaviour)) this.store.add(call.key ?? this.key, json, body, message)
    if (!body['stream']) return { status: 200, body: message }
    const frames = eventsOf(message, plan)
    return { format: 'sse', frames, opening: 2, closing: 2, failure: (error) => brokenFrames(call, error) }
  }

  #count(call: Call, version: string): Answer {
    const json = parse(call.request.body)
    if (!json) return problem(call, 400, 'The request body is not valid JSON.')
    const parsedRequest = this.#read(call, json, version, betasOf(call), true)
    if ('refusal' in parsedRequest) return parsedRequest.refusal
    const { body, kept: storedFiles } = parsedRequest
    const texts = storedFiles.map(({ text }) => text)
    const tokenCount = weigh(body['system']) + weigh(body['messages']) + weigh(body['tools']) + weigh(texts)
    return { status: 200, body: { input_tokens: call.behaviour.usage?.input ?? Math.max(1, tokenCount) } }
  }

  #read(
    call: Call,
    json: Json,
    version: string,
    betas: string[],
    counting = false,
  ): { body: Json; model: AnthropicModel; kept: StoredObject[] } | { refusal: Whole } {
    const refuse = (status: number, message: string, code?: string) => ({
      refusal: problem(call, status, message, undefined, code),
    })
    const fault = check(messageRequest(version, betas, { counting, continues: previousOf(json) !== undefined }), json)
    if (fault) return refuse(400, faultMessage(fault))
    const model = this.models.find((one) => one.id === json['model'])
    if (!model) return refuse(404, `model: ${json['model']}`)
    if (call.behaviour.forgets) this.store.forget()
    const key = call.key ?? this.key
    const whole = this.store.whole(key, json)
    if ('status' in whole) return refuse(whole.status, whole.message, whole.code)
    const { body } = whole
    const lookup = this.store.read(key, body)
    if ('status' in lookup) return refuse(lookup.status, lookup.message, lookup.code)
    const clash = conflict(body, version)
    if (clash) return refuse(400, clash)
    const { role } = (body['messages'] as Json[]).findLast((one) => one['role'] !== 'system') ?? {}
    if (role === 'assistant' && model.prefill === false) {
      return refuse(
        400,
        'This model does not support assistant message prefill: the conversation must end with a user message.',
      )
    }
    const size = weigh(body['messages']) + weigh(body['system'])
    const context = model.context ?? 200_000
    if (size > context) return refuse(400, `prompt is too long: ${size} tokens > ${context} maximum`)
    return { body, model, kept: lookup.read }
  }

  #list({ request }: Call): Whole {
    const limit = Number(request.query.get('limit') ?? 20)
    const after = this.models.findIndex((one) => one.id === request.query.get('after_id'))
    const before = this.models.findIndex((one) => one.id === request.query.get('before_id'))
    const rest = this.models.slice(after + 1, before < 0 ? undefined : before)
    const page = before < 0 ? rest.slice(0, limit) : rest.slice(-limit)
    return {
      status: 200,
      body: {
        data: page.map(entryOf),
        has_more: page.length < rest.length,
        first_id: page[0]?.id ?? null,
        last_id: page.at(-1)?.id ?? null,
      },
    }
  }

  #one(call: Call, name: string): Whole {
    const model = this.models.find((one) => one.id === name)
    return model ? { status: 200, body: entryOf(model) } : problem(call, 404, `model: ${name}`)
  }
}

function betasOf({ request }: Call): string[] {
  const betaHeader = [request.headers['anthropic-beta'] ?? []].flat().join(',')
  return betaHeader.split(',').flatMap((name) => name.trim() || [])
}

function forcedTool({ tool_choice: choice, tools }: Json): string | undefined {
  if (choice?.type === 'tool') return choice.name
  return choice?.type === 'any' ? tools?.[0]?.name : undefined
}

function endingOf(plan: Plan, behaviour: Behaviour): Ending {
  if (behaviour.stopSequence !== undefined) return { reason: 'stop_sequence', sequence: behaviour.stopSequence }
  const usual = plan.refusal === undefined ? (plan.tools.length > 0 ? 'tool_use' : 'end_turn') : 'refusal'
  return { reason: behaviour.finish ?? (plan.cut ? 'max_tokens' : usual), sequence: null }
}

const kinds: Record<number, string> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  408: 'timeout_error',
  409: 'conflict_error',
  413: 'request_too_large',
  422: 'invalid_request_error',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
}

/**
 * An account without money gets 400 `invalid_request_error` ("Your credit balance is too low to access the Anthropic
 * API. Please go to Plans & Billing to upgrade or purchase credits."): scripted by `status` and `message`.
 */
const refusals: Record<Refusal, (call: Call) => Whole> = {
  key: (call) => problem(call, 401, 'invalid x-api-key'),
  permission: (call) => problem(call, 403, 'Your API key does not have permission to use the specified resource.'),
  quota: (call) =>
    problem(call, 429, 'Your organization has reached its spend limit.', undefined, 'enforced_spend_limit_reached'),
  throttle: (call) => ({
    ...problem(call, 429, "This request would exceed your organization's rate limit of 50 requests per minute."),
    headers: { 'retry-after': '2' },
  }),
}

function problem(call: Call, status: number, message?: string, type?: string, code?: string): Whole {
  return { status, body: envelope(call, status, message, type, code) }
}

function brokenFrames(call: Call, { status = 529, message, type, code }: MidStreamError): Frame[] {
  return [event(envelope(call, status, message, type, code))]
}

function envelope(call: Call, status: number, message?: string, type?: string, code?: string): Json {
  const kind = type ?? kinds[status] ?? 'api_error'
  return {
    type: 'error',
    error: {
      type: kind,
      message: message ?? usual(kind),
      ...(code === undefined ? {} : { details: { error_code: code } }),
    },
    request_id: requestId(call),
  }
}

function usual(kind: string): string {
  return kind === 'overloaded_error' ? 'Overloaded' : `The request ended with ${kind}.`
}

const ids = new WeakMap<object, string>()

/** One ID per request: the header and the envelope agree. */
function requestId({ request }: Call): string {
  const existing = ids.get(request) ?? id('req_011C', 20)
  ids.set(request, existing)
  return existing
}

function rateLimits(): Record<string, string> {
  const reset = new Date(Date.now() + 60_000).toISOString()
  const limits = { requests: 4000, tokens: 2_000_000, 'input-tokens': 1_600_000, 'output-tokens': 400_000 }
  return Object.fromEntries(
    Object.entries(limits).flatMap(([what, limit]) => [
      [`anthropic-ratelimit-${what}-limit`, String(limit)],
      [`anthropic-ratelimit-${what}-remaining`, String(limit - 1)],
      [`anthropic-ratelimit-${what}-reset`, reset],
    ]),
  )
}

function entryOf(model: AnthropicModel): Json {
  return {
    type: 'model',
    id: model.id,
    display_name: model.name ?? model.id,
    created_at: '2026-02-01T00:00:00Z',
    lifecycle: 'active',
    deprecated_at: null,
    retires_at: null,
    line: model.line ?? null,
    max_input_tokens: model.context ?? 200_000,
    max_tokens: model.output ?? 64_000,
    capabilities: null,
  }
}
