// OpenRouter on loopback: chat completions with routing, cost, and comments; models, key, and credits.
//
// Sources: compat.md 4.1-4.6; @openrouter/ai-sdk-provider 3.1.0 schemas; an issue tracker for `user_id` beside `error`.
// A chunk has `usage` as an object or not at all, and never a null `system_fingerprint`: @openrouter/sdk 1.3.19 rejects
// both; every piece of reasoning_details has `format`.
//
// Unknown, so not played or only guessed:
// - whether unknown fields are rejected (ignored here); how strict messages and tools are before routing (only their
//   types)
// - the words of errors, and whether `user_id` comes with every error (here: with all but 401)
// - the raw upstream words behind native_finish_reason for authors other than anthropic, openai, and google
// - how many comments come before the first token (two), and whether any come later (none)
// - whether a non-stream upstream failure arrives as a status or as HTTP 200 with `error` (played: a status)
// - how :nitro, :floor, :online, :exacto change price or provider (played: stripped); :free must be listed
// - the default model of a key (a request without model and models gets 400); preset and auto routers; plugins; caching
// - whether /models needs a key (played: no) and /credits a management key (played: any key)
// - /generation, /providers, /endpoints, /embeddings, /responses, /messages: answer 404
import { deltasOf, finishOf, forcedTool, messageOf, usageOf, type Dialect } from '../chat.ts'
import type { Answer, Frame, Whole } from '../delivery/deliver.ts'
import { pathName } from '../openai/rules.ts'
import { errorOf, problem, refusals } from './errors.ts'
import { endpointOf, endpointsOf, priceOf, routedRequest, type Endpoint, type OpenRouterModel } from './rules.ts'
import { type MediaOutput, makeMedia, refusedModalities } from './made.ts'
import { id, lastText, parse, planOf, weigh, type Plan } from '../delivery/plan.ts'
import { check } from '../rules.ts'
import { serve, type Call } from '../server.ts'
import type { Json, MidStreamError, Options, Vendor } from '../vendor.ts'

export type { OpenRouterModel } from './rules.ts'

export type OpenRouterOptions = Options<OpenRouterModel> & {
  /** The last chunk with the usage: `choices: []`, or one empty delta. */
  usageChoices?: 'none' | 'one' | undefined
  credits?: { total: number; used: number } | undefined
}

const models: OpenRouterModel[] = [
  {
    id: 'anthropic/claude-sonnet-5.5',
    endpoints: [
      { slug: 'anthropic', name: 'Anthropic' },
      { slug: 'google-vertex/us-east5', name: 'Google' },
    ],
  },
  { id: 'openai/gpt-4o-mini', price: { prompt: '0.00000015', completion: '0.0000006' } },
  { id: 'google/gemini-3-flash', price: { prompt: '0.0000005', completion: '0.000003' } },
  { id: 'google/gemini-3-pro-image', makes: 'image', price: { prompt: '0.000002', completion: '0.000012' } },
  { id: 'openai/gpt-audio', makes: 'audio', price: { prompt: '0.0000025', completion: '0.00001' } },
  { id: 'openai/gpt-4o-mini:free', price: { prompt: '0', completion: '0', cacheRead: '0', cacheWrite: '0' } },
]

export async function startOpenRouter(options: OpenRouterOptions = {}): Promise<Vendor> {
  const key = options.key ?? 'sk-or-v1-loopback'
  const shop = new OpenRouter(options.models ?? models, key, options)
  return await serve({
    key,
    otherwise: options.otherwise,
    answer: (call) => shop.answer(call),
    failure: ({ status, type, code, message }) => problem(status, message, type, code),
    refusals,
    headers: (call) => (call.path === '/api/v1/chat/completions' ? { 'x-generation-id': generation(call) } : {}),
  })
}

type Route = { body: Json; model: OpenRouterModel; endpoint: Endpoint; asked: string }

class OpenRouter {
  readonly models: OpenRouterModel[]
  readonly key: string
  readonly options: OpenRouterOptions

  constructor(list: OpenRouterModel[], key: string, options: OpenRouterOptions) {
    this.models = list
    this.key = key
    this.options = options
  }

  answer(call: Call): Answer | Promise<Answer> {
    const { method, request } = call
    const path = call.path.replace(/^\/api\/v1/, '')
    if (method === 'GET' && path === '/models') return { status: 200, body: { data: this.models.map(entryOf) } }
    const bearer = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1]
    if (bearer === undefined) return problem(401, 'No auth credentials found')
    if (bearer !== this.key) return problem(401, 'User not found.')
    if (method === 'GET' && path === '/key') return { status: 200, body: { data: this.#key() } }
    if (method === 'GET' && path === '/credits') {
      return { status: 200, body: { data: { total_credits: this.#credits.total, total_usage: this.#credits.used } } }
    }
    if (method === 'POST' && path === '/chat/completions') return this.#chat(call)
    return problem(404, `No such route: ${method} ${call.path}`)
  }

  get #credits(): { total: number; used: number } {
    return this.options.credits ?? { total: 20, used: 1.5 }
  }

  #key(): Json {
    const { total, used: usedCredits } = this.#credits
    return {
      label: 'sk-or-v1-loo...ack',
      limit: total,
      limit_remaining: total - usedCredits,
      limit_reset: null,
      usage: usedCredits,
      usage_daily: 0,
      usage_weekly: 0,
      usage_monthly: usedCredits,
      byok_usage: 0,
      byok_usage_daily: 0,
      byok_usage_weekly: 0,
      byok_usage_monthly: 0,
      include_byok_in_limit: false,
      is_free_tier: false,
      is_management_key: false,
      is_provisioning_key: false,
      expires_at: null,
      creator_user_id: 'user_loopback',
      rate_limit: { requests: -1, interval: '10s', note: 'deprecated' },
    }
  }

  async #chat(call: Call): Promise<Answer> {
    const route = this.#route(call)
    if ('status' in route) return route
    const { body, model } = route
    const unmade = refusedModalities(body, model.makes)
    if (unmade !== undefined) return problem(404, unmade, 'not_found')
    const wants = body['reasoning']
    const effort = wants?.effort ?? body['reasoning_effort']
    const thinks = wants?.enabled === true || Boolean(wants?.max_tokens) || (effort !== undefined && effort !== 'none')
    const plan = planOf({
      behaviour: call.behaviour,
      echo: lastText(body['messages']),
      prompt: [body['messages'], body['tools']],
      limit: body['max_completion_tokens'] ?? body['max_tokens'],
      forced: forcedTool(body),
      thinks,
      json: ['json_object', 'json_schema'].includes(body['response_format']?.type),
    })
    const context = model.context ?? 200_000
    if (weigh(body['messages']) > context) {
      return problem(400, `The context of this model is ${context} tokens.`, 'context_length_exceeded')
    }
    const limit = body['max_completion_tokens'] ?? body['max_tokens'] ?? undefined
    call.request.seen = { messages: body['messages'], limit, read: [] }
    const finish = call.behaviour.finish ?? finishOf(plan)
    const media = await makeMedia(body, model.makes, lastText(body['messages']))
    return body['stream'] ? this.#stream(call, route, plan, finish, media) : whole(call, route, plan, finish, media)
  }

  #route({ request }: Call): Route | Whole {
    const body = parse(request.body)
    if (!body) return problem(400, 'The request body is not valid JSON.')
    const fault = check(routedRequest, body)
    if (fault) return problem(400, `${pathName(fault.path)}: ${fault.kind}`)
    const modelNames: string[] = [body['model'], ...(body['models'] ?? [])].filter((one) => typeof one === 'string')
    if (modelNames.length === 0) return problem(400, 'No models provided')
    const models = modelNames.map((name) => this.#find(name)).filter((one) => one !== undefined)
    if (models.length === 0) return unknownModel(modelNames)
    for (const model of models) {
      const endpoint = endpointOf(model, body['provider'])
      if (endpoint) return { body, model, endpoint, asked: modelNames[0] ?? model.id }
    }
    return problem(404, 'No endpoints found that match your provider preferences.', 'not_found')
  }

  #find(name: string): OpenRouterModel | undefined {
    const plain = name.replace(/:(nitro|floor|online|exacto)$/, '')
    return this.models.find((one) => one.id === plain)
  }

  #stream(call: Call, route: Route, plan: Plan, finish: string, media: MediaOutput | undefined): Answer {
    const head = headOf(call, route, 'chat.completion.chunk')
    const chunk = (delta: Json, reason: string | null): Frame => {
      const choice = {
        index: 0,
        delta,
        finish_reason: reason,
        native_finish_reason: reason && native(route, reason),
        logprobs: null,
      }
      return { data: { ...head, choices: [choice] } }
    }
    const empty = {
      index: 0,
      delta: { role: 'assistant', content: '' },
      finish_reason: null,
      native_finish_reason: null,
    }
    const frames: Frame[] = [
      { comment: 'OPENROUTER PROCESSING' },
      { comment: 'OPENROUTER PROCESSING' },
      ...deltasOf(plan, dialectOf(plan, route)).map((delta) => chunk(delta, null)),
      ...(media?.pieces ?? []).map((delta) => chunk(delta, null)),
      chunk({ content: '' }, finish),
      {
        data: {
          ...head,
          choices: this.options.usageChoices === 'one' ? [empty] : [],
          usage: billOf(plan, route, media),
        },
      },
      { data: '[DONE]' },
    ]
    return { format: 'sse', frames, opening: 3, closing: 3, failure: (error) => brokenFrames(head, route, error) }
  }
}

function whole(call: Call, route: Route, plan: Plan, finish: string, media: MediaOutput | undefined): Whole {
  const message = { ...messageOf(plan, dialectOf(plan, route)), ...media?.fields }
  const choice = {
    index: 0,
    logprobs: null,
    finish_reason: finish,
    native_finish_reason: native(route, finish),
    message,
  }
  return {
    status: 200,
    body: { ...headOf(call, route, 'chat.completion'), choices: [choice], usage: billOf(plan, route, media) },
  }
}

function headOf(call: Call, { model, endpoint }: Route, object: string): Json {
  const createdAt = Math.floor(Date.now() / 1000)
  const { id: servedId } = model
  const head = { id: generation(call), provider: endpoint.name, model: servedId, object, created: createdAt }
  // A whole answer always has it; a chunk has a text or nothing.
  return object === 'chat.completion' ? { ...head, system_fingerprint: null } : head
}

const ids = new WeakMap<object, string>()

/** One per request: the header and the body agree. */
function generation({ request }: Call): string {
  const existing = ids.get(request) ?? id(`gen-${Math.floor(request.at / 1000)}-`, 20)
  ids.set(request, existing)
  return existing
}

/** Reasoning as text and as details; the signature comes with the last detail. */
function dialectOf(plan: Plan, { model, body }: Route): Dialect {
  if (body['reasoning']?.exclude === true) return {}
  const format = model.id.startsWith('anthropic/')
    ? 'anthropic-claude-v1'
    : model.id.startsWith('google/')
      ? 'google-gemini-v1'
      : 'unknown'
  return {
    reasoning: (text, last) => ({
      reasoning: text,
      reasoning_details: [
        { type: 'reasoning.text', text, ...(last ? { signature: plan.signature } : {}), format, index: 0 },
      ],
    }),
  }
}

const natives: Record<string, Record<string, string>> = {
  anthropic: { stop: 'end_turn', length: 'max_tokens', tool_calls: 'tool_use', content_filter: 'refusal' },
  google: { stop: 'STOP', length: 'MAX_TOKENS', tool_calls: 'STOP', content_filter: 'SAFETY' },
}

function native({ model }: Route, finish: string): string {
  return natives[model.id.split('/')[0] ?? '']?.[finish] ?? finish
}

function billOf(plan: Plan, { model }: Route, media: MediaOutput | undefined): Json {
  const { usage } = plan
  const price = priceOf(model)
  const fresh = usage.input - usage.cached - usage.cacheWrite
  const prompt =
    fresh * Number(price.prompt) + usage.cached * Number(price.cacheRead) + usage.cacheWrite * Number(price.cacheWrite)
  const completion = (usage.output + (media?.tokens ?? 0)) * Number(price.completion)
  const cost = usage.cost ?? prompt + completion
  const details = { upstream_inference_prompt_cost: prompt, upstream_inference_completions_cost: completion }
  const told = usageOf(plan)
  if (media !== undefined) {
    told['completion_tokens'] += media.tokens
    told['total_tokens'] += media.tokens
    told['completion_tokens_details'] = { ...told['completion_tokens_details'], ...media.usage }
  }
  return { ...told, cost, is_byok: false, cost_details: { upstream_inference_cost: null, ...details } }
}

function unknownModel(modelNames: string[]): Whole {
  const { status, body } = problem(400, `${modelNames[0]} is not a valid model ID`)
  const availability = {
    code: 'model_not_found',
    retryable: false,
    requested_models: modelNames,
    docs_url: 'https://openrouter.ai/docs',
  }
  const { error, ...rest } = body as Json
  return { status, body: { error: { ...error, availability }, ...rest } }
}

function brokenFrames(head: Json, { endpoint }: Route, { status = 502, type, code, message }: MidStreamError): Frame[] {
  const error = errorOf(status, message, type, code)
  const choice = { index: 0, delta: { content: '' }, finish_reason: 'error' }
  return [{ data: { ...head, provider: endpoint.name, error, choices: [choice] } }]
}

function entryOf(model: OpenRouterModel): Json {
  const price = priceOf(model)
  const context = model.context ?? 200_000
  return {
    id: model.id,
    canonical_slug: model.id.replace(/:.*/, ''),
    name: model.name ?? model.id,
    created: 1_771_000_000,
    description: `Played on loopback by ${endpointsOf(model)
      .map((one) => one.name)
      .join(', ')}.`,
    context_length: context,
    architecture: {
      modality: `text+image->text${model.makes === undefined ? '' : `+${model.makes}`}`,
      input_modalities: ['text', 'image'],
      output_modalities: ['text', ...(model.makes === undefined ? [] : [model.makes])],
      tokenizer: 'Other',
      instruct_type: null,
    },
    pricing: {
      prompt: price.prompt,
      completion: price.completion,
      request: '0',
      image: '0',
      web_search: '0',
      internal_reasoning: '0',
      input_cache_read: price.cacheRead,
      input_cache_write: price.cacheWrite,
    },
    top_provider: { context_length: context, max_completion_tokens: model.output ?? 64_000, is_moderated: false },
    per_request_limits: null,
    supported_parameters: ['max_tokens', 'temperature', 'tools', 'tool_choice', 'response_format', 'reasoning', 'stop'],
    default_parameters: {},
    links: { details: `/api/v1/models/${model.id}/endpoints` },
  }
}
