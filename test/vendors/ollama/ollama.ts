// Ollama on loopback: its own API (version, tags, show, chat) and the OpenAI-compatible part of it.
//
// Source: the ollama/ollama repository of 2026-08-21 (docs/api.md, server/routes.go, middleware/openai.go,
// openai/openai.go, api/types.go). Authorization is ignored, as there. Worth knowing, and played:
// - /api/chat streams by default; a mid-stream error is a last line `{"error": …}` under HTTP 200;
// - /v1/chat/completions swallows a mid-stream error: an empty chunk with model "", no finish_reason, no [DONE];
// - /v1/chat/completions knows `max_tokens` only: `max_completion_tokens` is a field it does not read, so nothing bounds
//   the answer; efforts are none, low, medium, high and max; arguments of a call in the history that do not parse as an
//   object ("" among them) are 400;
// - a model's template renders system, user, assistant and tool: messages of other roles (`developer`) never reach it, and
//   nobody is told (ollama/ollama#18305). `seen` of a recorded request has what reached the model, and the limit read;
// - tool calls come whole, with `index` also in a non-stream reply; usage in a stream only with include_usage, and the
//   other chunks then have no `usage` key; no `refusal` and no `logprobs` keys; reasoning is in `reasoning`.
// Unknown, so not played or only guessed:
// - what it makes of arguments that are `null` (refused here);
// - the words of type errors (they are Go's JSON decoder's); the prefix of "does not support tools";
// - the order in which several tool calls and text come from a real model; durations (fixed numbers);
// - structured outputs (`format` gives `{"echo": …}`), logprobs, images, keep_alive, cloud models;
// - /api/generate, embed, ps, pull, /v1/embeddings, /v1/responses, /v1/messages exist there and answer 404 here.
import { compatStream, compatWhole, nativeStream, nativeWhole } from './chat.ts'
import type { Answer, Whole } from '../delivery/deliver.ts'
import { lastText, parse, planOf, type Plan } from '../delivery/plan.ts'
import { check, type Rule } from '../rules.ts'
import { serve, type Call } from '../server.ts'
import type { Json, Options, Refusal, Vendor } from '../vendor.ts'

export type OllamaModel = {
  /** With its tag: `llama3.2:latest`. */
  name: string
  capabilities?: string[]
  family?: string
  parameters?: string
  quantization?: string
  context?: number
  size?: number
}

export type OllamaOptions = Options<OllamaModel> & { version?: string | undefined }

const models: OllamaModel[] = [
  { name: 'llama3.2:latest', capabilities: ['completion', 'tools'], family: 'llama', parameters: '3.2B' },
  { name: 'qwen3:4b', capabilities: ['completion', 'tools', 'thinking'], family: 'qwen3', parameters: '4.0B' },
  { name: 'all-minilm:latest', capabilities: ['embedding'], family: 'bert', parameters: '23M', quantization: 'F16' },
]

const modified = '2026-05-04T17:37:44.706Z'

export async function startOllama(options: OllamaOptions = {}): Promise<Vendor> {
  const shop = new Ollama(options.models ?? models, options.version ?? '0.24.0')
  return await serve({
    key: options.key ?? 'ollama',
    otherwise: options.otherwise,
    answer: (call) => shop.answer(call),
    failure: ({ status, message }, call) => problem(call, status, message ?? 'the model failed to generate a response'),
    refusals,
    headers: () => ({}),
  })
}

const message: Rule = { kind: 'object', fields: { role: { kind: 'string' } } }
const options: Record<string, Rule> = {
  model: { kind: 'string' },
  messages: { kind: 'array', nullable: true, items: message },
  tools: { kind: 'array', nullable: true, items: { kind: 'object' } },
  stream: { kind: 'boolean', nullable: true },
}
const native: Rule = {
  kind: 'object',
  fields: {
    ...options,
    messages: {
      kind: 'array',
      nullable: true,
      items: { kind: 'object', fields: { content: { kind: 'string', nullable: true } } },
    },
    options: { kind: 'object', nullable: true },
    think: { kind: ['boolean', 'string'], nullable: true },
  },
}
const compat: Rule = {
  kind: 'object',
  fields: {
    ...options,
    max_tokens: { kind: 'integer', nullable: true },
    seed: { kind: 'integer', nullable: true },
    temperature: { kind: 'number', nullable: true },
    top_p: { kind: 'number', nullable: true },
    frequency_penalty: { kind: 'number', nullable: true },
    presence_penalty: { kind: 'number', nullable: true },
    stream_options: { kind: 'object', nullable: true, fields: { include_usage: { kind: 'boolean', nullable: true } } },
    response_format: { kind: 'object', nullable: true },
    reasoning_effort: { kind: 'string', nullable: true },
  },
}

const efforts = ['high', 'medium', 'low', 'max', 'none']
/** The roles that the templates of models render. */
const roles = ['system', 'user', 'assistant', 'tool']

class Ollama {
  readonly models: OllamaModel[]
  readonly version: string

  constructor(list: OllamaModel[], version: string) {
    this.models = list
    this.version = version
  }

  answer(call: Call): Answer {
    switch (`${call.method} ${call.path}`) {
      case 'HEAD /':
      case 'GET /':
        return { status: 200, body: 'Ollama is running' }
      case 'GET /api/version':
        return { status: 200, body: { version: this.version } }
      case 'GET /api/tags':
        return { status: 200, body: { models: this.models.map(tagOf) } }
      case 'POST /api/show':
        return this.#show(call)
      case 'POST /api/chat':
        return this.#native(call)
      case 'POST /v1/chat/completions':
        return this.#compat(call)
      case 'GET /v1/models':
        return { status: 200, body: { object: 'list', data: this.models.map((model) => entryOf(model.name)) } }
      default:
        return call.method === 'GET' && call.path.startsWith('/v1/models/')
          ? this.#retrieve(call)
          : { status: 404, body: '404 page not found' }
    }
  }

  #show(call: Call): Whole {
    const body = parse(call.request.body)
    if (!body) return unreadable(call)
    const name = body['model'] || body['name']
    if (!name) return problem(call, 400, 'model is required')
    const model = this.#find(name)
    return model ? { status: 200, body: showOf(model) } : problem(call, 404, `model '${name}' not found`)
  }

  #retrieve(call: Call): Whole {
    const name = decodeURIComponent(call.path.slice(11))
    return this.#find(name) ? { status: 200, body: entryOf(name) } : problem(call, 404, `model '${name}' not found`)
  }

  #native(call: Call): Answer {
    const { body, refusal } = readBody(call, native)
    if (!body) return refusal
    const plan = this.#plan(call, body, {
      think: body['think'],
      limit: body['options']?.num_predict,
      json: Boolean(body['format']),
    })
    if ('status' in plan) return plan
    if (!body['messages']?.length) {
      const created_at = new Date().toISOString()
      const said = { role: 'assistant', content: '' }
      return { status: 200, body: { model: body['model'], created_at, message: said, done: true, done_reason: 'load' } }
    }
    const finish = call.behaviour.finish ?? (plan.cut ? 'length' : 'stop')
    return body['stream'] === false
      ? nativeWhole(plan, body['model'], finish)
      : nativeStream(plan, body['model'], finish)
  }

  #compat(call: Call): Answer {
    const { body, refusal } = readBody(call, compat)
    if (!body) return refusal
    if (!body['messages']?.length) return problem(call, 400, "[] is too short - 'messages'")
    const odd = (body['messages'] as Json[]).find((one) => !readable(one))
    if (odd) return problem(call, 400, 'invalid message format')
    if ((body['messages'] as Json[]).some(({ tool_calls: calls }) => calls && !calls.every(callable)))
      return problem(call, 400, 'invalid tool call arguments')
    const effort = body['reasoning']?.effort ?? body['reasoning_effort'] ?? ''
    if (effort !== '' && !efforts.includes(effort)) {
      const message = `invalid reasoning value: '${effort}' (must be "high", "medium", "low", "max", or "none")`
      return problem(call, 400, message)
    }
    const json = ['json_object', 'json_schema'].includes(body['response_format']?.type)
    const think = effort === '' ? undefined : effort !== 'none'
    const plan = this.#plan(call, body, { think, limit: body['max_tokens'], json })
    if ('status' in plan) return plan
    const finish = call.behaviour.finish ?? (plan.cut ? 'length' : 'stop')
    if (!body['stream']) return compatWhole(plan, body['model'], finish)
    return compatStream(plan, body['model'], finish, body['stream_options']?.include_usage === true)
  }

  #plan(
    call: Call,
    body: Json,
    { think, limit, json }: { think: unknown; limit: number; json: boolean },
  ): Plan | Whole {
    if (!body['model']) return problem(call, 400, 'model is required')
    const model = this.#find(body['model'])
    if (!model) return problem(call, 404, `model '${body['model']}' not found`)
    const can = (what: string) => model.capabilities?.includes(what) ?? what === 'completion'
    if (think && !can('thinking')) return problem(call, 400, `"${body['model']}" does not support thinking`)
    if (!can('completion')) return problem(call, 400, `"${body['model']}" does not support chat`)
    if (body['tools']?.length && !can('tools')) return problem(call, 400, `${body['model']} does not support tools`)
    const messages: Json[] = ((body['messages'] ?? []) as Json[]).filter(({ role }) => roles.includes(role))
    call.request.seen = { messages, limit: limit ?? undefined, read: [] }
    const thinks = can('thinking') && think !== false
    return planOf({
      behaviour: call.behaviour,
      echo: lastText(messages),
      prompt: [messages, body['tools']],
      limit,
      thinks,
      json,
    })
  }

  /** A name without a tag means `:latest`. */
  #find(name: string): OllamaModel | undefined {
    return this.models.find((one) => one.name === (name.includes(':') ? name : `${name}:latest`))
  }
}

type Read = { body: Json; refusal?: never } | { body?: never; refusal: Whole }

function readBody(call: Call, rule: Rule): Read {
  const body = parse(call.request.body)
  if (!body) return { refusal: unreadable(call) }
  const fault = check(rule, body)
  if (!fault) return { body }
  const where = `json: cannot unmarshal ${typeof fault.value} into field ${fault.path.join('.')}`
  return { refusal: problem(call, 400, where) }
}

function unreadable(call: Call): Whole {
  return problem(call, 400, call.request.body.length === 0 ? 'missing request body' : 'invalid character in body')
}

/** Content may be missing only beside tool calls; parts are texts, images (data only) and audio. */
function readable({ content, tool_calls: calls }: Json): boolean {
  if (typeof content === 'string') return true
  if (!Array.isArray(content)) return calls !== undefined && calls !== null
  return content.every(({ type, text, image_url: image }: Json) => {
    if (type === 'image_url') return String(image?.url ?? image).startsWith('data:image/')
    return type === 'input_audio' || (type === 'text' && typeof text === 'string')
  })
}

/** A call of the history is a function with an object of arguments, written as JSON. */
function callable({ function: called }: Json): boolean {
  return parse(Buffer.from(String(called?.arguments ?? ''))) !== undefined
}

function problem({ path }: Call, status: number, message: string): Whole {
  if (!path.startsWith('/v1/')) return { status, body: { error: message } }
  const type = status === 400 ? 'invalid_request_error' : status === 404 ? 'not_found_error' : 'api_error'
  return { status, body: { error: { message, type, param: null, code: null } } }
}

/** A server on this machine knows no keys: 401 and 403 are what its cloud and doors before it say (the words are guessed). */
const refusals: Record<Refusal, (call: Call) => Whole> = {
  key: (call) => problem(call, 401, 'unauthorized'),
  permission: (call) => problem(call, 403, 'this model requires a subscription, upgrade for access'),
  quota: (call) => problem(call, 429, 'you have reached your weekly usage limit, please upgrade to continue'),
  throttle: (call) => problem(call, 503, 'server busy, please try again.  maximum pending requests exceeded'),
}

function detailsOf(model: OllamaModel): Json {
  const family = model.family ?? 'llama'
  return {
    parent_model: '',
    format: 'gguf',
    family,
    families: [family],
    parameter_size: model.parameters ?? '3.2B',
    quantization_level: model.quantization ?? 'Q4_K_M',
  }
}

function tagOf(model: OllamaModel): Json {
  return {
    name: model.name,
    model: model.name,
    modified_at: modified,
    size: model.size ?? 2_019_393_189,
    digest: Buffer.from(model.name).toString('hex').padEnd(64, '0').slice(0, 64),
    details: detailsOf(model),
    capabilities: model.capabilities ?? ['completion'],
  }
}

function showOf(model: OllamaModel): Json {
  const family = model.family ?? 'llama'
  return {
    modelfile: `FROM ${model.name}`,
    parameters: 'stop "<|eot_id|>"',
    template: '{{ .Prompt }}',
    details: detailsOf(model),
    model_info: {
      'general.architecture': family,
      'general.parameter_count': 3_212_749_888,
      [`${family}.context_length`]: model.context ?? 131_072,
      [`${family}.embedding_length`]: 3072,
    },
    capabilities: model.capabilities ?? ['completion'],
    modified_at: modified,
  }
}

function entryOf(name: string): Json {
  return { id: name, object: 'model', created: Math.floor(Date.parse(modified) / 1000), owned_by: 'library' }
}
