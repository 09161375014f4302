import type { Shape } from '#gateway/model/offer.ts'
import { refuse } from '#kernel/errors.ts'
import { originOf } from './address.ts'
import type { EndpointRow } from '../store.ts'

/**
 * Providers that are known by name. Only facts that a source gives: which one is in `docs/providers.md`, and what is in
 * none is null. A preset fills in what the caller leaves out and links an endpoint to the catalogue's models and prices.
 */
export interface Preset {
  id: string
  name: string
  shape: Shape
  /** Null: every customer has an address of their own, or no source names one. */
  base_url: string | null
  /** Null: depends on how the server was set up. */
  needs_key: boolean | null
  /** Lower-case headers in which its API takes a credential; one of an endpoint's own may stand for the key. */
  key_headers: readonly string[]
  /** Its answers state what a call cost. Null: in no source. */
  reports_cost: boolean | null
  /** Whose models and prices in the catalogue are its own. Null: it is asked for its models. */
  catalogue: string | null
  /** Runs on hardware of one's own: its models cost 0. */
  local: boolean
  /** `<env>_API_KEY` and `<env>_BASE_URL` make it the instance's provider. */
  env: string | null
  /** Below `base_url`: what only answers to a valid key, where the list of models answers to anybody. */
  key_check: string | null
  /** It tells what it serves, at the address where it serves. */
  lists: boolean
}

const cloud = (
  id: string,
  name: string,
  env: string | null,
  base_url: string | null,
  more: Partial<Preset> = {},
): Preset => ({
  id,
  name,
  shape: 'openai-chat',
  base_url,
  needs_key: true,
  key_headers: ['authorization'],
  reports_cost: null,
  catalogue: id,
  local: false,
  env,
  key_check: null,
  lists: true,
  ...more,
})
const local = (id: string, name: string, base_url: string | null, more: Partial<Preset> = {}): Preset =>
  cloud(id, name, null, base_url, { needs_key: null, catalogue: null, local: true, ...more })

export const presets: readonly Preset[] = [
  cloud('openai', 'OpenAI', 'OPENAI', 'https://api.openai.com/v1', { reports_cost: false }),
  cloud('anthropic', 'Anthropic', 'ANTHROPIC', 'https://api.anthropic.com', {
    shape: 'anthropic-messages',
    key_headers: ['x-api-key', 'authorization'],
    reports_cost: false,
  }),
  cloud('google', 'Google Gemini', 'GEMINI', 'https://generativelanguage.googleapis.com/v1beta', {
    shape: 'gemini',
    key_headers: ['x-goog-api-key', 'authorization'],
  }),
  cloud('openrouter', 'OpenRouter', 'OPENROUTER', 'https://openrouter.ai/api/v1', {
    reports_cost: true,
    key_check: '/key',
  }),
  cloud('mistral', 'Mistral', 'MISTRAL', 'https://api.mistral.ai/v1'),
  cloud('groq', 'Groq', 'GROQ', 'https://api.groq.com/openai/v1'),
  cloud('together', 'Together AI', 'TOGETHER', 'https://api.together.ai/v1'),
  cloud('fireworks', 'Fireworks AI', 'FIREWORKS', 'https://api.fireworks.ai/inference/v1'),
  cloud('deepseek', 'DeepSeek', 'DEEPSEEK', 'https://api.deepseek.com'),
  cloud('xai', 'xAI', 'XAI', 'https://api.x.ai/v1'),
  cloud('cohere', 'Cohere', 'COHERE', 'https://api.cohere.ai/compatibility/v1'),
  cloud('cerebras', 'Cerebras', 'CEREBRAS', 'https://api.cerebras.ai/v1'),
  cloud('moonshotai', 'Moonshot AI', 'MOONSHOT', 'https://api.moonshot.ai/v1'),
  // Deployments have names of their customer's: it is asked for them.
  cloud('azure', 'Azure OpenAI', 'AZURE_OPENAI', null, { catalogue: null, key_headers: ['api-key', 'authorization'] }),
  cloud('bedrock', 'Amazon Bedrock', 'BEDROCK', null, { shape: 'anthropic-messages', lists: false }),
  cloud('vertex', 'Google Vertex AI', 'VERTEX', null, { shape: 'gemini', lists: false }),
  local('ollama', 'Ollama', 'http://127.0.0.1:11434', { shape: 'ollama', needs_key: false }),
  local('vllm', 'vLLM', 'http://127.0.0.1:8000/v1'),
  local('lm-studio', 'LM Studio', 'http://127.0.0.1:1234/v1'),
  local('llama-cpp', 'llama.cpp', 'http://127.0.0.1:8080/v1'),
]

const byId = new Map(presets.map((preset) => [preset.id, preset]))
export const presetOf = (id: string | null): Preset | null => (id === null ? null : (byId.get(id) ?? null))

type Keyed = Pick<EndpointRow, 'preset' | 'base_url' | 'sealed_key' | 'header_names'>

/** Whether it has what its vendor lets nobody in without. Somebody else's server in its place may take none. */
export function hasKey({ preset, base_url, sealed_key, header_names }: Keyed): boolean {
  const known = presetOf(preset)
  if (known?.needs_key !== true || sealed_key !== null) return true
  // Where customers have addresses of their own, so have their gateways, with headers of their own.
  if (known.base_url === null) return header_names.length > 0
  return (
    originOf(known.base_url) !== originOf(base_url) || known.key_headers.some((name) => header_names.includes(name))
  )
}

/** Without a key it would take the names of its vendor's models and answer none of them. */
export function checkHasKey(endpoint: Keyed): void {
  const message = whyKeyless(endpoint)
  if (message !== null) refuse('missing_parameter', { param: 'api_key', message })
}

/** The step that would give it the key that it lacks; null: it lacks none. */
export function whyKeyless(endpoint: Keyed): string | null {
  if (hasKey(endpoint)) return null
  const { id, key_headers, base_url } = presetOf(endpoint.preset)!
  const names = key_headers.map((name) => `\`${name}\``).join(' or ')
  return `The preset \`${id}\` needs a key: give \`api_key\`, or ${names} in \`headers\`.${base_url === null ? '' : ' A server of your own that takes none is named by `base_url`.'}`
}
