import type { Outbound } from '#packages/http-client/outbound.ts'
import type { MediaAbilities } from '#gateway/catalogue/media.ts'
import type { Kind } from '#gateway/catalogue/model.ts'
import type { ProviderEndpoint } from '#gateway/model/offer.ts'
import { AskFailed, getJson, checkKey } from './ask-provider.ts'
import { quirksOwner } from '#gateway/providers/supports.ts'
import { shorten } from '#core/text/shorten.ts'

/** A model as its provider lists it. Null and empty: unknown. */
export interface ListedModel {
  id: string
  name: string | null
  contextLength: number | null
  maxOutputTokens: number | null
  capabilities: string[]
  embeds: boolean
  kind?: Kind
  abilities?: MediaAbilities
  createdAt: string | null
}

export type Json = Record<string, unknown>
const MAX = 5_000
/** The contract's limits for models described by users. */
const LONGEST_ID = 256
const LONGEST_NAME = 120
const MAX_TOKENS = 1_000_000_000
const YEAR_3000 = Date.UTC(3000, 0)
const SHOW_MS = 10_000

/** Throws `AskFailed`. */
export async function fetchModels(
  outbound: Outbound,
  endpoint: ProviderEndpoint,
  timeoutMs?: number,
): Promise<ListedModel[]> {
  if (quirksOwner(endpoint)?.lists === false) return []
  const providerModels = await listOf(outbound, endpoint, timeoutMs === undefined ? {} : { timeoutMs })
  const byId = new Map(
    providerModels.filter(({ id }) => id !== '' && id.length <= LONGEST_ID).map((model) => [model.id, model]),
  )
  return [...byId.values()]
}

function listOf(outbound: Outbound, endpoint: ProviderEndpoint, more: { timeoutMs?: number }): Promise<ListedModel[]> {
  switch (endpoint.shape) {
    case 'ollama':
      return askOllama(outbound, endpoint, more)
    case 'anthropic-messages':
      return getJson(outbound, endpoint, '/v1/models?limit=1000', more).then((a) =>
        rowsIn(a, 'data').map(anthropicModel),
      )
    case 'gemini':
      return getJson(outbound, endpoint, '/models?pageSize=1000', more).then((a) =>
        rowsIn(a, 'models').map(geminiModel),
      )
    case 'openai-chat':
    case 'openai-responses':
      return getJson(outbound, endpoint, '/models', more).then((answer) =>
        // Together returns a bare array.
        rowsIn(Array.isArray(answer) ? { data: answer } : answer, 'data').map(openaiModel),
      )
    case 'elevenlabs':
      return getJson(outbound, endpoint, '/models', more).then((answer) =>
        rowsIn({ data: answer }, 'data').map(elevenLabsModel),
      )
    case 'deepgram':
      return getJson(outbound, endpoint, '/models', more).then((answer) => [
        ...rowsIn(answer, 'tts').map(deepgramModel('speech')),
        ...rowsIn(answer, 'stt').map(deepgramModel('transcription')),
      ])
    case 'replicate':
    case 'fal':
    case 'black-forest-labs':
    case 'stability':
      return Promise.resolve([])
  }
}

/** Throws `AskFailed`. */
export async function probe(outbound: Outbound, endpoint: ProviderEndpoint, timeoutMs: number): Promise<ListedModel[]> {
  const { keyCheck = null, keyCheckBeside, lists } = quirksOwner(endpoint) ?? {}
  const until = performance.now() + timeoutMs
  if (keyCheck !== null) await getJson(outbound, beside(endpoint, keyCheckBeside), keyCheck, { timeoutMs })
  else if (lists === false) await checkKey(outbound, endpoint, timeoutMs)
  return fetchModels(outbound, endpoint, Math.max(1, Math.ceil(until - performance.now())))
}

const beside = (endpoint: ProviderEndpoint, end: string | undefined): ProviderEndpoint =>
  end !== undefined && endpoint.baseUrl.endsWith(end)
    ? { ...endpoint, baseUrl: endpoint.baseUrl.slice(0, -end.length) }
    : endpoint

export function rowsIn(answer: unknown, key: string): Json[] {
  const rows = (answer as Json | null)?.[key]
  if (!Array.isArray(rows)) throw new AskFailed('The provider’s model list has an unknown format.', 200, 'garbage')
  return (rows as unknown[]).filter((row): row is Json => row !== null && typeof row === 'object').slice(0, MAX)
}

const text = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)
const name = (value: unknown): string | null => shorten(text(value) ?? '', LONGEST_NAME).toWellFormed() || null
const whole = (value: unknown): number | null =>
  typeof value === 'number' && Number.isInteger(value) && value > 0 && value <= MAX_TOKENS ? value : null
function instant(value: unknown): string | null {
  const at = typeof value === 'number' ? new Date(value * 1000) : typeof value === 'string' ? new Date(value) : null
  return at === null || !(at.getTime() > 0 && at.getTime() < YEAR_3000) ? null : at.toISOString()
}

/** OpenAI returns only the ID. OpenRouter, Mistral, Groq and vLLM add some of the other fields. */
export const openaiModel = (row: Json): ListedModel => ({
  id: text(row.id) ?? '',
  name: name(row.name),
  contextLength:
    whole(row.context_length) ?? whole(row.max_context_length) ?? whole(row.context_window) ?? whole(row.max_model_len),
  maxOutputTokens:
    whole((row.top_provider as Json | undefined)?.max_completion_tokens) ?? whole(row.max_completion_tokens),
  capabilities: [],
  embeds: /embed/i.test(text(row.id) ?? '') || row.type === 'embedding',
  createdAt: instant(row.created),
})

const anthropicModel = (row: Json): ListedModel => ({
  id: text(row.id) ?? '',
  name: name(row.display_name),
  contextLength: whole(row.max_input_tokens),
  maxOutputTokens: whole(row.max_tokens),
  capabilities: [],
  embeds: false,
  createdAt: instant(row.created_at),
})

const mediaModel = (kind: Kind, id: unknown, displayName: unknown): ListedModel => ({
  kind,
  id: text(id) ?? '',
  name: name(displayName),
  contextLength: null,
  maxOutputTokens: null,
  capabilities: [],
  embeds: false,
  createdAt: null,
})

/** ElevenLabs also lists models that only convert voices. They get no ID. */
const elevenLabsModel = (row: Json): ListedModel => ({
  ...mediaModel('speech', row.can_do_text_to_speech === false ? '' : row.model_id, row.name),
  abilities: {
    kind: 'speech',
    formats: [],
    languages: (Array.isArray(row.languages) ? (row.languages as Json[]) : []).flatMap(
      (language) => text(language?.language_id) ?? [],
    ),
    streams: null,
    max_characters: whole(row.maximum_text_length_per_request),
  },
})

/** Each voice is a model. Versions of one voice share a canonical name. */
const deepgramModel =
  (kind: Kind) =>
  (row: Json): ListedModel =>
    mediaModel(kind, row.canonical_name ?? row.name, row.name)

const geminiModel = (row: Json): ListedModel => {
  const methods = Array.isArray(row.supportedGenerationMethods) ? (row.supportedGenerationMethods as unknown[]) : []
  return {
    id: (text(row.name) ?? '').replace(/^models\//, ''),
    name: name(row.displayName),
    contextLength: whole(row.inputTokenLimit),
    maxOutputTokens: whole(row.outputTokenLimit),
    capabilities: [],
    embeds: methods.length > 0 && !methods.includes('generateContent'),
    createdAt: null,
  }
}

/**
 * Reads `show` details four at a time, to spare small machines. Details not received within another `timeoutMs` stay
 * unknown.
 */
async function askOllama(
  outbound: Outbound,
  endpoint: ProviderEndpoint,
  more: { timeoutMs?: number },
): Promise<ListedModel[]> {
  // Ollama's native routes aren't under `/v1`.
  const rows = rowsIn(await getJson(outbound, native(endpoint), '/api/tags', more), 'models')
  const models: ListedModel[] = []
  const until = performance.now() + (more.timeoutMs ?? SHOW_MS)
  for (let i = 0; i < rows.length; i += 4)
    models.push(...(await Promise.all(rows.slice(i, i + 4).map((row) => showOllama(outbound, endpoint, row, until)))))
  return models
}

async function showOllama(
  outbound: Outbound,
  endpoint: ProviderEndpoint,
  row: Json,
  until: number,
): Promise<ListedModel> {
  const id = text(row.model) ?? text(row.name) ?? ''
  const timeoutMs = Math.ceil(until - performance.now())
  // A model without details is still usable.
  const details = (
    timeoutMs <= 0
      ? {}
      : await getJson(outbound, native(endpoint), '/api/show', { timeoutMs, body: { model: id } }).catch(() => ({}))
  ) as Json
  const info = (details.model_info ?? {}) as Json
  const capabilityNames = Array.isArray(details.capabilities) ? (details.capabilities as unknown[]).map(String) : []
  const capabilityMap: Record<string, string> = { tools: 'tools', vision: 'vision', thinking: 'reasoning' }
  return {
    id,
    name: name(row.name),
    contextLength: whole(info[`${String(info['general.architecture'])}.context_length`]),
    maxOutputTokens: null,
    capabilities: capabilityNames.flatMap((word) => capabilityMap[word] ?? []),
    embeds: capabilityNames.length > 0 && !capabilityNames.includes('completion'),
    createdAt: instant(row.modified_at),
  }
}

const natives = new WeakMap<ProviderEndpoint, ProviderEndpoint>()
export function native(endpoint: ProviderEndpoint): ProviderEndpoint {
  const before = natives.get(endpoint)
  if (before) return before
  const same: ProviderEndpoint = {
    ...endpoint,
    shape: 'openai-chat',
    baseUrl: endpoint.baseUrl.replace(/\/v1\/?$/, ''),
  }
  natives.set(endpoint, same)
  return same
}
