// OpenAI on loopback: chat completions, models, embeddings; responses are in responses.ts.
//
// Sources: compat.md 2.1-2.5; openai 7.55.0 types (obfuscation, shutdown_date); issue trackers for the wording of
// unknown and unsupported parameters.
//
// Unknown, so not played or only guessed:
// - which keys inside messages, parts, and tools are rejected (unknown ones are ignored, top-level ones are rejected)
// - the exact type lists of `param` and codes for numbers out of range and wrong lengths (played as invalid_value)
// - the wording and code of a missing key and of unpaired tool messages; whether the history may hold function ids > 40
// - the answers of service_tier, system_fingerprint, and store per model; the default length of obfuscation strings
// - whether a failing stream keeps `event: error` (here: a bare data frame, without [DONE])
// - schema-true answers for response_format json_schema (the echo is `{"echo": …}`), audio, web search, moderation
// - POST /v1/completions: not played; it answers 404. Images, audio, and video are in media/openai/.
import { deltasOf, finishOf, forcedTool, messageOf, usageOf, type Dialect } from '../chat.ts'
import type { Answer, Frame, Whole } from '../delivery/deliver.ts'
import { vectorOf } from '../embedder/embedding.ts'
import { errorOf, problem, refusals, messageFor } from './errors.ts'
import { Responses } from './responses.ts'
import { chatRequest, embeddingsRequest, pairing, faultError, type OpenAIError } from './rules.ts'
import { id, lastText, parse, planOf, tokens, weigh, type Plan } from '../delivery/plan.ts'
import { check } from '../rules.ts'
import { serve, type Call, type Play } from '../server.ts'
import type { Json, MidStreamError, Options, Vendor } from '../vendor.ts'

export type OpenAIModel = {
  id: string
  /** A reasoning model: no max_tokens, no temperature; others reject reasoning_effort. */
  reasons?: boolean
  context?: number
  embeds?: number
}

export type OpenAIOptions = Options<OpenAIModel> & {
  /** Plays a compatible third party that streams its reasoning text in this field. */
  reasoningField?: 'reasoning_content' | 'reasoning' | undefined
  /** Plays one that leaves out what OpenAI always sends: `system_fingerprint`, and null finish reasons. */
  terse?: boolean | undefined
  /** Plays one with the API of 2024: `max_completion_tokens` is ignored, `developer` is no valid role. */
  old?: true | undefined
  /** Its responses show reasoning as `reasoning_text`, as open models do. */
  reasoningText?: boolean | undefined
}

export const openAIModels: OpenAIModel[] = [
  { id: 'gpt-4o', context: 128_000 },
  { id: 'gpt-4o-mini', context: 128_000 },
  { id: 'o4-mini', context: 200_000, reasons: true },
  { id: 'text-embedding-3-small', embeds: 1536 },
]

export async function startOpenAI(options: OpenAIOptions = {}): Promise<Vendor> {
  const key = options.key ?? 'sk-loopback-openai'
  const shop = new OpenAI(options.models ?? openAIModels, key, options)
  return await serve({ ...openAIManners(shop), otherwise: options.otherwise, answer: (call) => shop.answer(call) })
}

/** Common to all routes of OpenAI. */
export function openAIManners({ key, responses }: OpenAI): Omit<Play, 'answer'> {
  return {
    key,
    shelf: responses.store.shelf,
    failure: ({ status, type, code, message }) =>
      problem({ status, message: message ?? messageFor(status), ...errorOf(status, type, code) }),
    refusals,
    headers: () => ({
      'x-request-id': id('req_', 32),
      'openai-version': '2020-10-01',
      'openai-organization': 'org-loopback',
      'openai-processing-ms': '7',
      'x-ratelimit-limit-requests': '10000',
      'x-ratelimit-remaining-requests': '9999',
      'x-ratelimit-reset-requests': '6ms',
      'x-ratelimit-limit-tokens': '2000000',
      'x-ratelimit-remaining-tokens': '1999000',
      'x-ratelimit-reset-tokens': '30ms',
    }),
  }
}

/** Also used for Azure, which authenticates and names models in its own way. */
export class OpenAI {
  readonly models: OpenAIModel[]
  readonly key: string
  readonly options: OpenAIOptions
  readonly responses: Responses

  constructor(list: OpenAIModel[], key: string, options: OpenAIOptions) {
    this.models = list
    this.key = key
    this.options = options
    const reasoningText = options.reasoningText ?? false
    this.responses = new Responses({ key, models: list, reasoningText, problem, errorOf })
  }

  /** Identifies the caller; returns the answer to an unknown one. */
  admit(call: Call): Whole | undefined {
    const { request } = call
    const bearer = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1]
    if (bearer === undefined) {
      return problem({ status: 401, message: "You didn't provide an API key in an Authorization: Bearer header." })
    }
    if (bearer !== this.key && !this.options.keys?.includes(bearer)) {
      const message = `Incorrect API key provided: ${bearer.slice(0, 4)}****.`
      return problem({ status: 401, message, code: 'invalid_api_key' })
    }
    call.key = bearer
    return undefined
  }

  answer(call: Call): Answer {
    const refusal = this.admit(call)
    if (refusal) return refusal
    const { method, path } = call
    if (method === 'GET' && path === '/v1/models') {
      return { status: 200, body: { object: 'list', data: this.models.map(entryOf) } }
    }
    if (method === 'GET' && path.startsWith('/v1/models/')) return this.#model(decodeURIComponent(path.slice(11)))
    if (method === 'POST' && path === '/v1/chat/completions') return this.#read(call, (body) => this.chat(call, body))
    if (method === 'POST' && path === '/v1/embeddings') return this.#read(call, (body) => this.embeddings(call, body))
    return this.responses.answer(call) ?? problem({ status: 404, message: `Invalid URL (${method} ${path})` })
  }

  #model(name: string): Whole {
    const model = this.models.find((one) => one.id === name)
    if (model) return { status: 200, body: entryOf(model) }
    return problem({
      status: 404,
      message: `The model '${name}' does not exist`,
      param: 'model',
      code: 'model_not_found',
    })
  }

  #read({ request }: Call, next: (body: Json) => Answer): Answer {
    const body = parse(request.body)
    return body ? next(body) : problem({ status: 400, message: 'We could not parse the JSON body of your request.' })
  }

  chat(call: Call, json: Json): Answer {
    const { behaviour, request } = call
    const body = this.options.old ? without(json, 'max_completion_tokens') : json
    const fault = check(chatRequest, body)
    if (fault) return problem(faultError(fault))
    const newer = this.options.old ? (body['messages'] as Json[]).findIndex(({ role }) => role === 'developer') : -1
    if (newer >= 0) {
      const message = `'developer' is not one of ['system', 'assistant', 'user', 'tool', 'function'] - 'messages.${newer}.role'`
      return problem({ status: 400, message })
    }
    const model = this.models.find((one) => one.id === body['model'])
    if (!model || model.embeds) return unknownModel(body['model'])
    const refusal = conflict(body, model) ?? pairing(body['messages'])
    if (refusal) return problem(refusal)
    const lookup = this.responses.store.read(call.key ?? this.key, { input: body['messages'] })
    if ('status' in lookup) return problem(lookup)
    const limit = body['max_completion_tokens'] ?? body['max_tokens'] ?? undefined
    request.seen = { messages: body['messages'], limit, read: lookup.read }
    const storedTexts = lookup.read.map(({ text }) => text)

    const format = body['response_format']?.type
    const plan = planOf({
      behaviour,
      echo: [lastText(body['messages']), ...storedTexts].join('\n'),
      prompt: [body['messages'], body['tools'], storedTexts],
      limit,
      forced: forcedTool(body),
      thinks: model.reasons && body['reasoning_effort'] !== 'none',
      json: format === 'json_object' || format === 'json_schema',
    })
    const context = model.context ?? 128_000
    if (weigh(body['messages']) > context) {
      const message = `This model's maximum context length is ${context} tokens, your messages have ${plan.usage.input}.`
      return problem({ status: 400, message, param: 'messages', code: 'context_length_exceeded' })
    }
    const finish = behaviour.finish ?? finishOf(plan)
    return body['stream'] ? this.#stream(body, plan, finish) : this.#whole(body, plan, finish)
  }

  #whole(body: Json, plan: Plan, finish: string): Whole {
    const choices = Array.from({ length: body['n'] ?? 1 }, (_, index) => ({
      index,
      message: { ...messageOf(plan, this.#dialect(body)), annotations: [] },
      logprobs: body['logprobs'] ? logprobs(tokens(plan.text)) : null,
      finish_reason: finish,
    }))
    return {
      status: 200,
      body: { ...this.#head(body, 'chat.completion'), choices, usage: usageOf(plan, choices.length) },
    }
  }

  #stream(body: Json, plan: Plan, finish: string): Answer {
    const head = this.#head(body, 'chat.completion.chunk')
    const wantsUsage = body['stream_options']?.include_usage === true
    const chunk = (index: number, delta: Json, finish_reason: string | null): Frame => {
      const pieces = body['logprobs'] && delta['content'] ? logprobs([delta['content']]) : null
      const ending = this.options.terse && finish_reason === null ? {} : { logprobs: pieces, finish_reason }
      const data: Json = { ...head, choices: [{ index, delta, ...ending }] }
      if (wantsUsage) data['usage'] = null
      if (body['stream_options']?.include_obfuscation !== false) data['obfuscation'] = id('', 6)
      return { data }
    }
    const count = body['n'] ?? 1
    const sides = Array.from({ length: count }, () => deltasOf(plan, this.#dialect(body)))
    const frames = (sides[0] ?? []).flatMap((_, n) => sides.map((deltas, index) => chunk(index, deltas[n] ?? {}, null)))
    frames.push(...sides.map((_, index) => chunk(index, {}, finish)))
    if (wantsUsage) frames.push({ data: { ...head, choices: [], usage: usageOf(plan, count) } })
    frames.push({ data: '[DONE]' })
    const closing = count + (wantsUsage ? 2 : 1)
    return { format: 'sse', frames, opening: count, closing, failure: brokenFrames }
  }

  #head(body: Json, object: string): Json {
    const { system_fingerprint, ...head } = headOf(body, object)
    return this.options.terse ? head : { ...head, system_fingerprint }
  }

  #dialect(body: Json): Dialect {
    const field = this.options.reasoningField
    const custom = (body['tools'] ?? []).filter((tool: Json) => tool['type'] === 'custom')
    return {
      custom: new Set(custom.map((tool: Json) => tool['custom'].name as string)),
      ...(field ? { reasoning: (text: string) => ({ [field]: text }) } : {}),
    }
  }

  embeddings({ behaviour }: Call, body: Json): Whole {
    const fault = check(embeddingsRequest, body)
    if (fault) return problem(faultError(fault))
    const model = this.models.find((one) => one.id === body['model'])
    if (!model?.embeds) return unknownModel(body['model'])
    const input: unknown[] =
      Array.isArray(body['input']) && typeof body['input'][0] !== 'number' ? body['input'] : [body['input']]
    if (input.includes(''))
      return problem({ status: 400, message: "Invalid 'input': it must not be empty.", param: 'input' })
    const size = body['dimensions'] ?? model.embeds
    const data = input.map((text, index) => {
      const vector = vectorOf(text, size)
      const base64 = Buffer.from(vector.buffer).toString('base64')
      return { object: 'embedding', index, embedding: body['encoding_format'] === 'base64' ? base64 : [...vector] }
    })
    const count = behaviour.usage?.input ?? input.reduce<number>((sum, text) => sum + weigh(text), 0)
    return {
      status: 200,
      body: { object: 'list', data, model: model.id, usage: { prompt_tokens: count, total_tokens: count } },
    }
  }
}

function without(body: Json, field: string): Json {
  const { [field]: _, ...rest } = body
  return rest
}

/** Errors from a field's presence, by model or by another field. */
function conflict(body: Json, model: OpenAIModel): OpenAIError | undefined {
  const has = (name: string) => body[name] !== undefined && body[name] !== null
  const unsupportedError = (param: string, message: string, code: string | null): OpenAIError => ({
    status: 400,
    message,
    param,
    code,
  })
  if (has('stream_options') && !body['stream']) {
    const message = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
    return unsupportedError('stream_options', message, null)
  }
  if (!model.reasons && has('reasoning_effort')) {
    return { status: 400, message: 'Unrecognized request argument supplied: reasoning_effort', param: null, code: null }
  }
  if (!model.reasons) return undefined
  if (has('max_tokens')) {
    const message =
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    return unsupportedError('max_tokens', message, 'unsupported_parameter')
  }
  if (has('stop')) {
    const message = "Unsupported parameter: 'stop' is not supported with this model."
    return unsupportedError('stop', message, 'unsupported_parameter')
  }
  const odd = ['temperature', 'top_p'].find((name) => has(name) && body[name] !== 1)
  if (!odd) return undefined
  const message = `Unsupported value: '${odd}' does not support ${body[odd]} with this model. Only the default (1) value is supported.`
  return unsupportedError(odd, message, 'unsupported_value')
}

function unknownModel(name: string): Whole {
  const message = `The model \`${name}\` does not exist or you do not have access to it.`
  return problem({ status: 404, message, code: 'model_not_found' })
}

export function brokenFrames({ status = 500, type, code, message = messageFor(500) }: MidStreamError): Frame[] {
  return [{ data: { error: { message, param: null, ...errorOf(status, type, code) } } }]
}

export function entryOf(model: { id: string }): Json {
  return { id: model.id, object: 'model', created: 1_715_367_049, owned_by: 'system', shutdown_date: null }
}

function headOf(body: Json, object: string): Json {
  const createdAt = Math.floor(Date.now() / 1000)
  return {
    id: id('chatcmpl-', 29),
    object,
    created: createdAt,
    model: body['model'],
    service_tier: 'default',
    system_fingerprint: null,
  }
}

function logprobs(pieces: string[]): Json {
  const content = pieces.map((token) => ({ token, logprob: -0.01, bytes: [...Buffer.from(token)], top_logprobs: [] }))
  return { content, refusal: null }
}
