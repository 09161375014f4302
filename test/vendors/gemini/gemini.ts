// Google's Gemini API on loopback: generateContent, streamGenerateContent (alt=sse and JSON array), countTokens,
// models, under /v1beta and under /v1, which @google/genai 3 calls.
//
// Sources: the types of @google/genai 3.1.0; ai.google.dev/api/generate-content; issue trackers for the words of errors
// (thought signatures, turns of function calls, unknown names, RetryInfo). In a behavior: `type` is the error's status
// word, `code` the retryDelay of a 429 (`7.5s`), `finish` a finishReason, `refusal` a blocked prompt.
//
// Unknown, so not played or only guessed:
// - snake_case names, which proto JSON accepts too (rejected here as unknown); file, cache, tuning, live, batch, embed
//   routes (`keep` puts a file, a cache, or a store into an account); the answer for a store that doesn't exist
// - the words for values out of range, of a wrong type, and for thinking on models without it
// - how a failing stream is framed (here: a data frame with the error, which the SDK reads); the contents of
//   safetyRatings (left out)
// - whether an id in functionResponse is checked against the call (it isn't here); which models reject JSON with tools
// - which chunk carries the signature of a text answer when thoughts are shown (here: the final, empty part)
// - whether candidateCount above 1 is streamed (one candidate here); logprobs, grounding, citations; images, audio, and
//   video are in media/google.ts
import {
  envelope,
  generate,
  geminiModels,
  googleRefusals,
  problem,
  readGenerate,
  retryInfo,
  messageFor,
  type GeminiModel,
} from './content.ts'
import type { GoogleError } from './rules.ts'
import type { Answer, Flow, Whole } from '../delivery/deliver.ts'
import { parse, weigh } from '../delivery/plan.ts'
import { serve, type Call, type Play } from '../server.ts'
import { referencesIn, Shelf, type Name } from '../shelf.ts'
import type { Json, StoredObject, Options, Refusal, Vendor } from '../vendor.ts'

export async function startGemini(options: Options<GeminiModel> = {}): Promise<Vendor> {
  const key = options.key ?? 'AIza-loopback-gemini'
  const shop = new Gemini(options.models ?? geminiModels, [key, ...(options.keys ?? [])])
  return await serve({ ...geminiManners(shop), otherwise: options.otherwise, answer: (call) => shop.answer(call) })
}

/** Common to all routes of the API. */
export function geminiManners({ keys, shelf }: Gemini): Omit<Play, 'answer'> {
  return {
    key: keys[0] ?? '',
    shelf,
    failure: ({ status, type, code, message }) => {
      const details = status === 429 ? retryInfo(code) : undefined
      return problem({ status, message: message ?? messageFor(status), details }, type)
    },
    refusals,
    headers: () => ({ vary: 'Origin, X-Origin, Referer', server: 'scaffolding on HTTPServer2' }),
  }
}

export class Gemini {
  readonly models: GeminiModel[]
  readonly keys: string[]
  readonly shelf: Shelf

  constructor(list: GeminiModel[], keys: string[]) {
    this.models = list
    this.keys = keys
    const prefixes = { file: 'files/', cache: 'cachedContents/', store: 'fileSearchStores/' }
    this.shelf = new Shelf(keys[0] ?? '', prefixes)
  }

  /** Identifies the caller; returns the answer to an unknown one. */
  admit(call: Call): Whole | undefined {
    const apiKey = call.request.headers['x-goog-api-key'] ?? call.request.query.get('key')
    if (apiKey === undefined || apiKey === null) return unregisteredError()
    if (!this.keys.includes(String(apiKey))) return wrongKey()
    call.key = String(apiKey)
    return undefined
  }

  answer(call: Call): Answer {
    const refused = this.admit(call)
    if (refused) return refused
    const { method, path, request, key = '' } = call
    if (method === 'GET' && /^\/v1(beta)?\/models$/.test(path)) return this.#list(call)
    const one = /^\/(v1|v1beta)\/models\/([^/:]+)(?::(\w+))?$/.exec(decodeURIComponent(path))
    if (!one) return { status: 404, body: '' }
    const [, version = '', name = '', verb] = one
    const model = this.models.find((one) => one.id === name)
    if (method === 'GET' && verb === undefined)
      return model ? { status: 200, body: entryOf(model) } : unknown(version, name)
    if (method !== 'POST') return { status: 404, body: '' }
    if (!model) return unknown(version, name)
    const body = parse(request.body)
    if (!body) return problem({ status: 400, message: 'Invalid JSON payload received. Unexpected token.' })
    const countedRequest: Json = body['generateContentRequest'] ?? body
    const storedFiles = this.shelf.read(key, namesIn(countedRequest))
    if (verb === 'countTokens' && 'read' in storedFiles) return count(countedRequest, storedFiles.read)
    if (verb !== 'generateContent' && verb !== 'streamGenerateContent') return unknown(version, name, verb)
    const refusal = readGenerate(body, model)
    if (refusal) return problem(refusal)
    if ('missing' in storedFiles) return problem(withheld(storedFiles.missing))
    const answer = generate(call, body, model, verb === 'streamGenerateContent', 'studio', storedFiles.read)
    return 'frames' in answer && request.query.get('alt') !== 'sse' ? asArray(answer) : answer
  }

  #list({ request }: Call): Whole {
    const size = Number(request.query.get('pageSize') ?? 50)
    const from = Number(request.query.get('pageToken') ?? 0)
    const page = this.models.slice(from, from + size)
    const more = from + size < this.models.length
    return {
      status: 200,
      body: { models: page.map(entryOf), ...(more ? { nextPageToken: String(from + size) } : {}) },
    }
  }
}

/** Without `alt=sse` the chunks of a stream are the items of one JSON array. */
function asArray({ frames }: Flow): Whole {
  return { status: 200, body: frames.flatMap((frame) => ('data' in frame ? [frame.data] : [])) }
}

/** Data of the caller and of the model, where such a name means nothing. */
const data = new Set(['args', 'response', 'functionDeclarations', 'responseSchema', 'responseJsonSchema'])

/** Files of the Files API, caches, and stores; a web URL isn't stored here. */
function namesIn(body: Json): Name[] {
  const kinds = { fileUri: 'file', cachedContent: 'cache', fileSearchStoreNames: 'store' }
  return referencesIn(body, kinds, data).flatMap((name) => {
    if (name.kind !== 'file') return name
    const [file] = /files\/[\w-]+$/.exec(name.id) ?? []
    return file === undefined ? [] : { ...name, id: file }
  })
}

function withheld({ kind, id: name }: Name): GoogleError {
  if (kind === 'cache') return { status: 403, message: 'CachedContent not found (or permission denied)' }
  const what = kind === 'file' ? `File ${name.slice('files/'.length)}` : name
  return { status: 403, message: `You do not have permission to access the ${what} or it may not exist.` }
}

function count(request: Json, storedFiles: StoredObject[]): Whole {
  const parts = [
    request['contents'],
    request['systemInstruction'],
    request['tools'],
    storedFiles.map(({ text }) => text),
  ]
  const total = Math.max(1, weigh(parts) - parts.length)
  const details = [{ modality: 'TEXT', tokenCount: total }]
  return { status: 200, body: { totalTokens: total, promptTokensDetails: details } }
}

function unregisteredError(): Whole {
  const message =
    "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API."
  return problem({ status: 403, message })
}

const refusals: Record<Refusal, () => Whole> = { key: wrongKey, ...googleRefusals }

function wrongKey(): Whole {
  const message = 'API key not valid. Please pass a valid API key.'
  const info = {
    '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
    reason: 'API_KEY_INVALID',
    domain: 'googleapis.com',
    metadata: { service: 'generativelanguage.googleapis.com' },
  }
  const words = { '@type': 'type.googleapis.com/google.rpc.LocalizedMessage', locale: 'en-US', message }
  return { status: 400, body: envelope({ status: 400, message, details: [info, words] }) }
}

function unknown(version: string, name: string, verb = 'generateContent'): Whole {
  const message = `models/${name} is not found for API version ${version}, or is not supported for ${verb}. Call ListModels to see the list of available models and their supported methods.`
  return problem({ status: 404, message })
}

function entryOf(model: GeminiModel): Json {
  return {
    name: `models/${model.id}`,
    version: '001',
    displayName: model.name ?? model.id,
    description: `Loopback ${model.id}`,
    inputTokenLimit: model.context ?? 1_048_576,
    outputTokenLimit: model.output ?? 65_536,
    supportedGenerationMethods: ['generateContent', 'countTokens'],
    temperature: 1,
    topP: 0.95,
    topK: 64,
    maxTemperature: 2,
    ...(model.thinks ? { thinking: true } : {}),
  }
}
