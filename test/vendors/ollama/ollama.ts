// Ollama on loopback: its own API (pull, list, load, remove; chat, generate, embed) and the OpenAI-compatible part of
// it.
//
// Source: the ollama/ollama repository of 2026-08-21 (docs/api.md, server/routes.go, server/images.go,
// server/download.go, middleware/openai.go, openai/openai.go, api/types.go). Authorization is ignored, as there.
// Behavior worth knowing:
// - /api/chat streams by default; a mid-stream error is a last line `{"error": …}` under HTTP 200.
// - /v1/chat/completions swallows a mid-stream error: an empty chunk with model "", no finish_reason, no [DONE].
// - /v1/chat/completions only reads `max_tokens`: with `max_completion_tokens` the answer has no limit. Efforts are
//   none, low, medium, high, and max. Arguments of a call in the history that don't parse as an object (such as "") are
//   400.
// - A model's template renders system, user, assistant, and tool: messages of other roles (`developer`) are silently
//   dropped (ollama/ollama#18305). `seen` of a recorded request has the model's input and the limit.
// - Tool calls come whole, with `index` also in a non-stream reply; usage in a stream only with include_usage, and the
//   other chunks then have no `usage` key; no `refusal` and no `logprobs` keys; reasoning is in `reasoning`.
// - A pull streams lines about its layers under HTTP 200; an error is the last line, `{"error": …}`. A client that
//   disconnects ends it, and the next pull continues from the stored bytes.
// - A model stays in memory from its first use for `keep_alive` (5 minutes), with `num_ctx` tokens of context (4,096,
//   however the model was trained): older messages that don't fit are silently dropped.
//
// Unknown, so not played or only guessed:
// - what it does with arguments that are `null` (refused here)
// - the words of type errors (they come from Go's JSON decoder); the prefix of "does not support tools"
// - the order of several tool calls and text from a real model; durations (fixed numbers)
// - structured outputs (`format` gives `{"echo": …}`), logprobs, images, cloud models, time passing for `keep_alive`
// - what it answers when a text model is asked to embed (a vector here)
// - /api/create, blobs, copy, push, /v1/completions, /v1/responses, /v1/messages exist there and answer 404 here
import { compatStream, compatWhole, generatedStream, generatedWhole, nativeStream, nativeWhole } from './chat.ts'
import { embeddings } from './embed.ts'
import { compat, embedFields, generateFields, manageFields, native } from './fields.ts'
import { Library, type RegistryModel, lifetime } from './library.ts'
import { type OllamaModel, entryOf, showOf, tagOf } from './models.ts'
import type { Answer, Whole } from '../delivery/deliver.ts'
import { lastText, parse, planOf, type Plan, weigh } from '../delivery/plan.ts'
import { check, type Rule } from '../rules.ts'
import { serve, type Call } from '../server.ts'
import type { Json, Options, Refusal, Vendor } from '../vendor.ts'

export type OllamaOptions = Options<OllamaModel> & {
  version?: string | undefined
  /** The models of its registry; default: small models of three layers. */
  registry?: RegistryModel[] | undefined
}

export async function startOllama(options: OllamaOptions = {}): Promise<Vendor> {
  const shop = new Ollama(new Library(options.models, options.registry), options.version ?? '0.24.0')
  return await serve({
    key: options.key ?? 'ollama',
    otherwise: options.otherwise,
    answer: (call) => shop.answer(call),
    failure: ({ status, message }, call) => problem(call, status, message ?? 'the model failed to generate a response'),
    refusals,
    headers: () => ({}),
  })
}

const efforts = ['high', 'medium', 'low', 'max', 'none']
const roles = ['system', 'user', 'assistant', 'tool']

class Ollama {
  readonly library: Library
  readonly version: string

  constructor(library: Library, version: string) {
    this.library = library
    this.version = version
  }

  answer(call: Call): Answer {
    switch (`${call.method} ${call.path}`) {
      case 'HEAD /':
      case 'GET /':
        return { status: 200, body: 'Ollama is running' }
      case 'GET /api/version':
        return { status: 200, body: { version: this.version } }
      case 'HEAD /api/tags':
      case 'GET /api/tags':
        return { status: 200, body: { models: this.library.installed.map(tagOf) } }
      case 'GET /api/ps':
        return { status: 200, body: { models: this.library.running() } }
      case 'POST /api/pull':
        return this.#pull(call)
      case 'DELETE /api/delete':
        return this.#delete(call)
      case 'POST /api/generate':
        return this.#generate(call)
      case 'POST /api/embed':
      case 'POST /v1/embeddings':
        return this.#embed(call)
      case 'POST /api/show':
        return this.#show(call)
      case 'POST /api/chat':
        return this.#native(call)
      case 'POST /v1/chat/completions':
        return this.#compat(call)
      case 'GET /v1/models':
        return {
          status: 200,
          body: { object: 'list', data: this.library.installed.map((model) => entryOf(model.name)) },
        }
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

  #pull(call: Call): Answer {
    const { body, refusal } = readBody(call, manageFields)
    if (!body) return refusal
    const name = body['model'] || body['name']
    if (!name) return problem(call, 400, 'invalid model name')
    return body['stream'] === false ? this.library.pullWhole(name) : this.library.pull(name)
  }

  #delete(call: Call): Whole {
    const { body, refusal } = readBody(call, manageFields)
    if (!body) return refusal
    const name = body['model'] || body['name']
    if (!name) return problem(call, 400, 'name "" is invalid')
    return this.library.remove(name) ? { status: 200, body: '' } : problem(call, 404, `model '${name}' not found`)
  }

  /** Without a prompt it loads the model, or with `keep_alive` 0 unloads it. */
  #generate(call: Call): Answer {
    const { body, refusal } = readBody(call, generateFields)
    if (!body) return refusal
    // Unloading doesn't check the model's capabilities.
    const leaving = !body['prompt'] && lifetime(body['keep_alive']) === 0 && this.#find(body['model'] ?? '')
    if (leaving) {
      this.library.use(leaving, 0)
      return managedOnly(body, { response: '' })
    }
    const messages = body['prompt'] ? [{ role: 'user', content: body['prompt'] }] : []
    const plan = this.#plan(
      call,
      { ...body, messages },
      { think: body['think'], limit: body['options']?.num_predict, json: false },
    )
    if ('status' in plan) return plan
    if (messages.length === 0) return managedOnly(body, { response: '' })
    const finish = call.behaviour.finish ?? (plan.cut ? 'length' : 'stop')
    return body['stream'] === false
      ? generatedWhole(plan, body['model'], finish)
      : generatedStream(plan, body['model'], finish)
  }

  #embed(call: Call): Whole {
    const { body, refusal } = readBody(call, embedFields)
    if (!body) return refusal
    const model = this.#find(body['model'] ?? '')
    if (!model) return problem(call, 404, `model '${body['model'] ?? ''}' not found`)
    const texts = [body['input'] ?? []].flat() as unknown[]
    if (texts.some((text) => typeof text !== 'string')) return problem(call, 400, 'invalid input type')
    this.library.use(model, body['keep_alive'], body['options']?.num_ctx)
    return embeddings(body, texts as string[], call.path.startsWith('/v1/'))
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
    if (!body['messages']?.length) return managedOnly(body, { message: { role: 'assistant', content: '' } })
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
    this.library.use(model, body['keep_alive'], body['options']?.num_ctx)
    const all: Json[] = ((body['messages'] ?? []) as Json[]).filter(({ role }) => roles.includes(role))
    const messages = fitting(all, this.library.contextOf(model))
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
    return this.library.find(name)
  }
}

/** Input longer than the context silently loses its oldest messages; system messages and the last one stay. */
function fitting(messages: Json[], context: number): Json[] {
  const remaining = [...messages]
  for (let n = 0; n < remaining.length - 1 && weigh(remaining) > context;)
    if (remaining[n]!['role'] === 'system') n++
    else remaining.splice(n, 1)
  return remaining
}

function managedOnly({ model, keep_alive: keep }: Json, empty: Json): Whole {
  const done_reason = lifetime(keep) === 0 ? 'unload' : 'load'
  return { status: 200, body: { model, created_at: new Date().toISOString(), ...empty, done: true, done_reason } }
}

type ParsedBody = { body: Json; refusal?: never } | { body?: never; refusal: Whole }

function readBody(call: Call, rule: Rule): ParsedBody {
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

/** Content may only be missing beside tool calls; parts are text, images (data only), and audio. */
function readable({ content, tool_calls: calls }: Json): boolean {
  if (typeof content === 'string') return true
  if (!Array.isArray(content)) return calls !== undefined && calls !== null
  return content.every(({ type, text, image_url: image }: Json) => {
    if (type === 'image_url') return String(image?.url ?? image).startsWith('data:image/')
    return type === 'input_audio' || (type === 'text' && typeof text === 'string')
  })
}

/** A call in the history is a function with an object of arguments as JSON. */
function callable({ function: fn }: Json): boolean {
  return parse(Buffer.from(String(fn?.arguments ?? ''))) !== undefined
}

function problem({ path }: Call, status: number, message: string): Whole {
  if (!path.startsWith('/v1/')) return { status, body: { error: message } }
  const type = status === 400 ? 'invalid_request_error' : status === 404 ? 'not_found_error' : 'api_error'
  return { status, body: { error: { message, type, param: null, code: null } } }
}

/** A local server knows no keys: 401 and 403 come from its cloud and from proxies (the words are guessed). */
const refusals: Record<Refusal, (call: Call) => Whole> = {
  key: (call) => problem(call, 401, 'unauthorized'),
  permission: (call) => problem(call, 403, 'this model requires a subscription, upgrade for access'),
  quota: (call) => problem(call, 429, 'you have reached your weekly usage limit, please upgrade to continue'),
  throttle: (call) => problem(call, 503, 'server busy, please try again.  maximum pending requests exceeded'),
}
