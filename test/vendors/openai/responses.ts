// OpenAI's Responses API on loopback: POST /v1/responses whole and streamed, stored responses, input_tokens, POST
// /v1/conversations.
//
// Sources: compat.md 2.5; openai 7.55.0 types and its stream accumulator; issue trackers for the words of unpaired
// calls, unstored reasoning, and others' sealed content.
//
// Unknown, so not played or only guessed:
// - tools that OpenAI runs itself (web search, code, files, images, MCP): accepted, never used (their references are
//   read, see store.ts); background, prompts by ID, compaction, steering, websockets
// - that a reasoning item must be followed by its result
// - whether a stream breaks with `error`, with `response.failed`, or both (here: `response.failed`, or as scripted)
import type { Answer, Frame, Whole } from '../delivery/deliver.ts'
import { faultError, type OpenAIError } from './rules.ts'
import { notFoundError, OpenAIStore } from './store.ts'
import { eventsOf, itemsOf, type Wish } from './responses-items.ts'
import { itemConflict, itemNames, itemPairing, MIN_OUTPUT, responsesRequest, tooFew } from './responses-rules.ts'
import { id, parse, planOf, weigh, type Plan } from '../delivery/plan.ts'
import { check } from '../rules.ts'
import { failsFirst, type Call } from '../server.ts'
import type { Behaviour, Json, StoredObject, MidStreamError } from '../vendor.ts'

export type ResponsesModel = { id: string; reasons?: boolean; context?: number; embeds?: number }

export type ResponsesShop = {
  /** The default account of stored objects. */
  key: string
  models: ResponsesModel[]
  /** Plays an open model that shows its reasoning as `reasoning_text`. */
  reasoningText: boolean
  problem(error: OpenAIError): Whole
  errorOf(status: number, type?: string, code?: string): { type: string; code: string | null }
}

/** Routes under /v1/responses; null: not one of them. */
export class Responses {
  readonly #shop: ResponsesShop
  readonly store: OpenAIStore
  /** Sealed reasoning from this vendor. */
  readonly #sealed = new Set<string>()

  constructor(shop: ResponsesShop) {
    this.#shop = shop
    this.store = new OpenAIStore(shop.key)
  }

  answer(call: Call): Answer | null {
    const { method, path } = call
    if (method === 'POST' && path === '/v1/responses') return this.#create(call)
    if (method === 'POST' && path === '/v1/responses/input_tokens') return this.#count(call)
    if (method === 'POST' && path === '/v1/responses/compact') return this.#compact(call)
    if (method === 'POST' && path === '/v1/conversations') return this.#converse(call)
    const [, name, rest] = /^\/v1\/responses\/(resp_[^/]+)(\/.+)?$/.exec(path) ?? []
    if (name === undefined) return null
    const entry = this.store.response(this.#key(call), name)
    if (!entry) return this.#problem({ status: 404, message: `Response with id '${name}' not found.` })
    if (method === 'GET' && rest === undefined) return { status: 200, body: entry.response }
    if (method === 'DELETE' && rest === undefined) {
      this.store.forget(name)
      return { status: 200, body: { id: name, object: 'response.deleted', deleted: true } }
    }
    if (method === 'GET' && rest === '/input_items')
      return { status: 200, body: { object: 'list', data: entry.input.toReversed(), has_more: false } }
    if (method === 'POST' && rest === '/cancel')
      return this.#problem({ status: 400, message: 'Only background responses can be cancelled.' })
    return null
  }

  #create(call: Call): Answer {
    const { request, behaviour } = call
    const parsedRequest = this.#read(call)
    if ('refused' in parsedRequest) return this.#problem(parsedRequest.refused)
    const { body, model, input, given: newItems, kept: storedTexts } = parsedRequest
    const limit = body['max_output_tokens'] ?? undefined
    request.seen = { messages: input, limit, read: storedTexts }
    const wish = this.#wishOf(body)
    const format = body['text']?.format?.type
    const plan = planOf({
      behaviour,
      echo: [lastUserText(input), ...storedTexts.map(({ text }) => text)].join('\n'),
      prompt: [input, body['instructions'], body['tools'], storedTexts.map(({ text }) => text)],
      limit,
      forced: forcedTool(body),
      thinks: Boolean(model.reasons) && body['reasoning']?.effort !== 'none',
      json: format === 'json_object' || format === 'json_schema',
    })
    if (weigh(input) > (model.context ?? 128_000)) {
      const message = 'Your input exceeds the context window of this model. Please adjust your input and try again.'
      return this.#problem({ status: 400, message, param: 'input', code: 'context_length_exceeded' })
    }
    const reason = incompleteReason(plan, behaviour)
    const status = reason === null ? 'completed' : 'incomplete'
    const output = itemsOf(plan, wish, status)
    for (const item of output) if (item['encrypted_content']) this.#sealed.add(item['encrypted_content'])
    const startedResponse = headOf(body)
    const over = {
      ...startedResponse,
      status,
      completed_at: startedResponse['created_at'],
      incomplete_details: reason === null ? null : { reason },
      output,
      usage: usageOf(plan),
    }
    if (!failsFirst(behaviour)) this.store.add(this.#key(call), body, over, input, newItems)
    return body['stream'] ? this.#stream(body, startedResponse, over) : { status: 200, body: over }
  }

  #stream(body: Json, startedResponse: Json, over: Json): Answer {
    const hasPadding = body['stream_options']?.include_obfuscation !== false
    const events: Json[] = [
      { type: 'response.created', response: startedResponse },
      { type: 'response.in_progress', response: startedResponse },
      ...eventsOf(over['output']).map((event) =>
        hasPadding && 'delta' in event ? { ...event, obfuscation: id('', 6) } : event,
      ),
      { type: over['status'] === 'completed' ? 'response.completed' : 'response.incomplete', response: over },
    ]
    return {
      format: 'sse',
      frames: events.map(numberedFrame),
      opening: 2,
      closing: 1,
      failure: (error, sentCount) => [numberedFrame(this.#broken(startedResponse, error), sentCount)],
    }
  }

  #broken(
    startedResponse: Json,
    { status = 500, type, code, message = serverErrorMessage, as = 'failed' }: MidStreamError,
  ): Json {
    const error = this.#shop.errorOf(status, type, code)
    if (as === 'error') return { type: 'error', code: error.code ?? error.type, message, param: null }
    const failedResponse = { ...startedResponse, status: 'failed', error: { code: error.code ?? error.type, message } }
    return { type: 'response.failed', response: failedResponse }
  }

  /** The user's messages unchanged, and one item that only this vendor can read. */
  #compact(call: Call): Whole {
    const { behaviour } = call
    const parsedRequest = this.#read(call)
    if ('refused' in parsedRequest) return this.#problem(parsedRequest.refused)
    const { input } = parsedRequest
    const plan = planOf({ behaviour, echo: 'summary', prompt: [input] })
    const item = { id: id('cmp_'), type: 'compaction', encrypted_content: id('gAAAA', 40) }
    const usage = usageOf(plan)
    const output = [...input.filter(({ role }) => role === 'user'), item]
    return {
      status: 200,
      body: { id: id('resp_'), object: 'response.compaction', created_at: 1_790_000_000, output, usage },
    }
  }

  #count(call: Call): Whole {
    const parsedRequest = this.#read(call)
    if ('refused' in parsedRequest) return this.#problem(parsedRequest.refused)
    const tokens = weigh([
      parsedRequest.input,
      parsedRequest.body['instructions'],
      parsedRequest.body['tools'],
      parsedRequest.kept.map(({ text }) => text),
    ])
    return { status: 200, body: { object: 'response.input_tokens', input_tokens: tokens } }
  }

  #converse(call: Call): Whole {
    const body = parse(call.request.body)
    if (!body) return this.#problem({ status: 400, message: 'We could not parse the JSON body of your request.' })
    return { status: 200, body: this.store.converse(this.#key(call), body['items'] ?? [], body['metadata'] ?? {}) }
  }

  #key({ key }: Call): string {
    return key ?? this.#shop.key
  }

  /** `given`: the request's own items; `input`: everything the model gets; `kept`: referenced objects. */
  #read(
    call: Call,
  ):
    | { body: Json; model: ResponsesModel; input: Json[]; given: Json[]; kept: StoredObject[] }
    | { refused: OpenAIError } {
    const body = parse(call.request.body)
    const key = this.#key(call)
    if (!body) return { refused: { status: 400, message: 'We could not parse the JSON body of your request.' } }
    const fault = check(responsesRequest, body)
    const least = body['max_output_tokens']
    if (fault?.kind === 'range' && fault.path[0] === 'max_output_tokens' && least < MIN_OUTPUT)
      return { refused: tooFew(least) }
    if (fault) return { refused: faultError(fault) }
    const model = this.#shop.models.find((one) => one.id === body['model'])
    if (!model || model.embeds) {
      const message = `The requested model '${body['model']}' does not exist.`
      return { refused: { status: 400, message, param: 'model', code: 'model_not_found' } }
    }
    const before = this.store.before(key, body)
    if ('status' in before) return { refused: before }
    const newItems: Json[] =
      typeof body['input'] === 'string' ? [{ role: 'user', content: body['input'] }] : (body['input'] ?? [])
    const resolvedInput = this.store.resolve(key, body, [...before.input, ...newItems])
    if ('status' in resolvedInput) return { refused: resolvedInput }
    const lookup = this.store.read(key, body)
    if ('status' in lookup) return { refused: lookup }
    const { input } = resolvedInput
    const refusal =
      itemConflict(body, Boolean(model.reasons)) ??
      itemNames(newItems) ??
      this.#thoughts(key, body, input) ??
      itemPairing(input)
    return refusal
      ? { refused: refusal }
      : { body, model, input, given: input.slice(before.input.length), kept: lookup.read }
  }

  /** Reasoning must come back sealed and unchanged, or by its ID while it is stored. */
  #thoughts(key: string, body: Json, input: Json[]): OpenAIError | undefined {
    for (const item of input) {
      if (item['type'] !== 'reasoning') continue
      const sealedContent = item['encrypted_content'] as string | null | undefined
      if (sealedContent !== null && sealedContent !== undefined) {
        if (this.#sealed.has(sealedContent)) continue
        const message = `The encrypted content ${sealedContent.slice(0, 4)}... could not be verified. Reason: Encrypted content could not be decrypted or parsed.`
        return { status: 400, message, code: 'invalid_encrypted_content' }
      }
      if (item['id'] === undefined || item['id'] === null || this.store.item(key, item['id'])) continue
      return notFoundError(item['id'], body)
    }
    return undefined
  }

  #wishOf(body: Json): Wish {
    const tools = (body['tools'] ?? []) as Json[]
    const spaces = tools.filter((tool) => tool['type'] === 'namespace')
    const inner = spaces.flatMap((space) => (space['tools'] ?? []) as Json[])
    return {
      summary: (body['reasoning']?.summary ?? null) !== null,
      reasoningText: this.#shop.reasoningText,
      encrypted: (body['include'] ?? []).includes('reasoning.encrypted_content'),
      custom: new Set([...tools, ...inner].filter(({ type }) => type === 'custom').map(({ name }) => name as string)),
      namespaces: new Map(
        spaces.flatMap((space) =>
          (space['tools'] as Json[]).map(({ name }): [string, string] => [name, space['name']]),
        ),
      ),
      logprobs: (body['include'] ?? []).includes('message.output_text.logprobs'),
    }
  }

  #problem(error: OpenAIError): Whole {
    return this.#shop.problem(error)
  }
}

const serverErrorMessage = 'The server had an error while processing your request.'

const numberedFrame = (event: Json, sequence_number: number): Frame => ({
  event: event['type'] as string,
  data: { ...event, sequence_number },
})

function incompleteReason(plan: Plan, { finish }: Behaviour): string | null {
  if (plan.cut) return 'max_output_tokens'
  return finish === undefined || finish === 'completed' ? null : finish
}

function headOf(body: Json): Json {
  const format = { type: 'text' }
  return {
    id: id('resp_', 48),
    object: 'response',
    created_at: Math.floor(Date.now() / 1000),
    status: 'in_progress',
    background: false,
    error: null,
    incomplete_details: null,
    instructions: body['instructions'] ?? null,
    max_output_tokens: body['max_output_tokens'] ?? null,
    max_tool_calls: null,
    metadata: body['metadata'] ?? {},
    model: body['model'],
    output: [],
    parallel_tool_calls: body['parallel_tool_calls'] ?? true,
    previous_response_id: body['previous_response_id'] ?? null,
    prompt_cache_key: body['prompt_cache_key'] ?? null,
    reasoning: { effort: body['reasoning']?.effort ?? null, summary: body['reasoning']?.summary ?? null },
    safety_identifier: null,
    service_tier: 'default',
    store: body['store'] ?? true,
    temperature: body['temperature'] ?? 1,
    text: { format: body['text']?.format ?? format, verbosity: body['text']?.verbosity ?? 'medium' },
    tool_choice: body['tool_choice'] ?? 'auto',
    tools: body['tools'] ?? [],
    top_logprobs: 0,
    top_p: body['top_p'] ?? 1,
    truncation: body['truncation'] ?? 'disabled',
    usage: null,
    user: body['user'] ?? null,
  }
}

function usageOf({ usage }: Plan): Json {
  return {
    input_tokens: usage.input,
    input_tokens_details: { cached_tokens: usage.cached, cache_write_tokens: usage.cacheWrite },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: usage.reasoning },
    total_tokens: usage.input + usage.output,
  }
}

function forcedTool({ tool_choice: choice, tools }: Json): string | undefined {
  const firstName = (list: Json[] | undefined): string | undefined => list?.find((one) => one['name'])?.['name']
  if (choice === 'required') return firstName(tools)
  if (typeof choice !== 'object' || choice === null) return undefined
  if (choice.type === 'allowed_tools') return choice.mode === 'required' ? firstName(choice.tools) : undefined
  return choice.name
}

/** The text of the last user message. */
function lastUserText(input: Json[]): string {
  const textOf = ({ content }: Json): string =>
    typeof content === 'string' ? content : (content as Json[]).map((part) => part['text'] ?? '').join('')
  const last = input.findLast((item) => item['role'] === 'user' && textOf(item) !== '')
  return last ? textOf(last) : 'nothing to echo'
}
