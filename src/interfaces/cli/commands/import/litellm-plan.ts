import { isObject, textOr } from './formats/conversation.ts'

/** Converts a LiteLLM proxy's `config.yaml` to provider endpoints. Pure. https://docs.litellm.ai/docs/proxy/configs */

export interface PlannedModel {
  id: string
  pricing?: { input: number; output: number }
}

export interface PlannedEndpoint {
  slug: string
  name: string
  preset: string | null
  shape: string | null
  base_url: string | null
  api_key: string | null
  models: PlannedModel[]
}

export interface LitellmPlan {
  endpoints: PlannedEndpoint[]
  called: Map<string, string[]>
  renamed: { was: string; now: string }[]
  budget: { usd: number; period: 'day' | 'week' | 'month' } | null
  left: string[]
}

/** LiteLLM's provider prefixes and our presets. */
const presets: Readonly<Record<string, string>> = {
  openai: 'openai',
  anthropic: 'anthropic',
  gemini: 'google',
  openrouter: 'openrouter',
  mistral: 'mistral',
  groq: 'groq',
  together_ai: 'together',
  fireworks_ai: 'fireworks',
  deepseek: 'deepseek',
  xai: 'xai',
  cohere: 'cohere',
  cohere_chat: 'cohere',
  cerebras: 'cerebras',
  moonshot: 'moonshotai',
  azure: 'azure',
  ollama: 'ollama',
  ollama_chat: 'ollama',
  lm_studio: 'lm-studio',
  hosted_vllm: 'vllm',
}
/** Providers with an OpenAI-compatible API, used if a URL is given. */
const openAiAlike: ReadonlySet<string> = new Set([
  'openai',
  'custom_openai',
  'text-completion-openai',
  'openai_like',
  'llamafile',
  'litellm_proxy',
  'xinference',
  'nvidia_nim',
  'perplexity',
  'deepinfra',
  'sambanova',
])
/** Providers of model names without a prefix. */
const bare: readonly [RegExp, string][] = [
  [/^(gpt-|o\d|text-embedding-|dall-e|whisper|tts-|chatgpt-)/, 'openai'],
  [/^claude-/, 'anthropic'],
  [/^gemini-/, 'gemini'],
]
const needsAddress: ReadonlySet<string> = new Set(['azure'])

export function planOf(config: unknown, environment: Readonly<Record<string, string | undefined>>): LitellmPlan {
  const plan: LitellmPlan = { endpoints: [], called: new Map(), renamed: [], budget: null, left: [] }
  if (!isObject(config)) throw new TypeError('not a mapping')
  const groups = new Map<string, PlannedEndpoint>()
  const list = Array.isArray(config.model_list) ? config.model_list : []
  if (config.model_list === undefined)
    plan.left.push("model_list: not in this file. Models in the proxy's database aren't imported")
  for (const entry of list) {
    const name = isObject(entry) ? textOr(entry.model_name, '') : ''
    const params = isObject(entry) && isObject(entry.litellm_params) ? entry.litellm_params : null
    const model = params === null ? '' : textOr(params.model, '')
    if (!isObject(entry) || params === null || model === '') {
      plan.left.push(`an entry in model_list without litellm_params.model`)
      continue
    }
    planModel(
      { name, model, given: params, info: isObject(entry.model_info) ? entry.model_info : {} },
      environment,
      groups,
      plan,
    )
  }
  plan.endpoints = [...groups.values()]
  planRest(config, plan)
  return plan
}

interface ModelEntry {
  name: string
  model: string
  given: Record<string, unknown>
  info: Record<string, unknown>
}

function planModel(
  entry: ModelEntry,
  environment: Readonly<Record<string, string | undefined>>,
  groups: Map<string, PlannedEndpoint>,
  plan: LitellmPlan,
): void {
  const { name, model, given, info } = entry
  const label = name === '' || name === model ? model : `${name} (${model})`
  const target = targetOf(entry, environment)
  if ('problem' in target) return void plan.left.push(`${label}: ${target.problem}`)
  const endpoint = endpointFor(target, groups)
  const { id } = target
  if (!endpoint.models.some((one) => one.id === id)) endpoint.models.push({ id, ...pricesOf(given, info) })
  const now = `${endpoint.slug}/${id}`
  const originalName = name === '' ? model : name
  plan.called.set(originalName, [...(plan.called.get(originalName) ?? []), now])
  if (name !== '' && name !== now && name !== id) plan.renamed.push({ was: name, now })
  for (const word of ['rpm', 'tpm', 'max_budget'])
    if (given[word] !== undefined)
      plan.left.push(`${label}: ${word} ignored. Set spend caps on keys, workspaces or members`)
}

/** Where a LiteLLM model is served. */
interface ModelTarget {
  prefix: string
  id: string
  preset: string | undefined
  address: string | null
  key: string | null
}

function targetOf(
  { name, model, given }: ModelEntry,
  environment: Readonly<Record<string, string | undefined>>,
): ModelTarget | { problem: string } {
  if (model.includes('*') || name.includes('*'))
    return { problem: "patterns aren't imported. A provider without a model list offers all of its models" }
  const address = valueOf(given.api_base ?? given.base_url, environment)
  const key = valueOf(given.api_key, environment)
  const slash = model.indexOf('/')
  const prefix = slash < 0 ? (bare.find(([pattern]) => pattern.test(model))?.[1] ?? '') : model.slice(0, slash)
  const id = slash < 0 ? model : model.slice(slash + 1)
  const preset = presets[prefix]
  const alike = openAiAlike.has(prefix) || (prefix === '' && address.value !== null)
  if (id === '' || (preset === undefined && !(alike && address.value !== null)))
    return { problem: `unknown provider "${prefix || model}"` }
  for (const { missing } of [address, key])
    if (missing !== null) return { problem: `${missing} isn't set in this environment` }
  if (needsAddress.has(prefix) && address.value === null) return { problem: 'api_base is missing' }
  for (const word of ['vertex_project', 'aws_access_key_id', 'aws_region_name'])
    if (given[word] !== undefined) return { problem: `${word} isn't supported` }
  const isAzure = prefix === 'azure' && address.value !== null
  return { prefix, id, preset, address: isAzure ? azureAddress(address.value!) : address.value, key: key.value }
}

/** Models of one provider, address and key share an endpoint. */
function endpointFor(
  { prefix, preset, address, key }: ModelTarget,
  groups: Map<string, PlannedEndpoint>,
): PlannedEndpoint {
  const ours = preset === 'openai' && address !== null ? null : (preset ?? null)
  const group = `${prefix}\0${address ?? ''}\0${key ?? ''}`
  const existing = groups.get(group)
  if (existing !== undefined) return existing
  const slug = freeSlug(slugOf(preset ?? prefix, address), [...groups.values()])
  const endpoint: PlannedEndpoint = {
    slug,
    name: slug,
    preset: ours,
    shape: ours === null ? 'openai-chat' : null,
    base_url: address,
    api_key: key,
    models: [],
  }
  groups.set(group, endpoint)
  return endpoint
}

/** LiteLLM takes the Azure resource's URL; Azure's API without dated versions is below it. */
const azureAddress = (address: string): string =>
  /\/openai(\/|$)/.test(address) ? address : `${address.replace(/\/+$/, '')}/openai/v1`

/** Resolves `os.environ/NAME` in this environment. */
function valueOf(
  given: unknown,
  environment: Readonly<Record<string, string | undefined>>,
): { value: string | null; missing: string | null } {
  if (typeof given !== 'string' || given === '') return { value: null, missing: null }
  const name = /^os\.environ\/(\w+)$/.exec(given)?.[1]
  if (name === undefined) return { value: given, missing: null }
  const value = environment[name]
  return value ? { value, missing: null } : { value: null, missing: name }
}

function slugOf(provider: string, address: string | null): string {
  const host = address !== null && URL.canParse(address) ? new URL(address).hostname.split('.')[0]! : ''
  const words = address === null ? provider : `${provider}-${host}`
  return (
    words
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, '-')
      .replaceAll(/^-+|-+$/g, '')
      .slice(0, 28) || 'litellm'
  )
}

function freeSlug(slug: string, taken: readonly PlannedEndpoint[]): string {
  for (let i = 1; ; i += 1) {
    const one = i === 1 ? slug : `${slug}-${i}`
    if (!taken.some((endpoint) => endpoint.slug === one)) return one
  }
}

function pricesOf(params: Record<string, unknown>, info: Record<string, unknown>): Pick<PlannedModel, 'pricing'> {
  const price = (word: string): number | undefined => {
    const value = Number(params[word] ?? info[word] ?? Number.NaN)
    return Number.isFinite(value) && value >= 0 ? Math.round(value * 1e6 * 1e9) / 1e9 : undefined
  }
  const [input, output] = [price('input_cost_per_token'), price('output_cost_per_token')]
  return input === undefined || output === undefined ? {} : { pricing: { input, output } }
}

const periods: Readonly<Record<string, 'day' | 'week' | 'month'>> = {
  '24h': 'day',
  '1d': 'day',
  daily: 'day',
  '7d': 'week',
  weekly: 'week',
  '30d': 'month',
  '1mo': 'month',
  monthly: 'month',
}

export const periodOf = (duration: string): 'day' | 'week' | 'month' | undefined => periods[duration]

function planRest(config: Record<string, unknown>, plan: LitellmPlan): void {
  const settings = isObject(config.litellm_settings) ? config.litellm_settings : {}
  const budget = Number(settings.max_budget ?? Number.NaN)
  const period = periods[textOr(settings.budget_duration, '')]
  if (Number.isFinite(budget) && period !== undefined) plan.budget = { usd: budget, period }
  else if (settings.max_budget !== undefined)
    plan.left.push('litellm_settings.max_budget: budget_duration must be a day, a week or a month')
  for (const [word, why] of [
    ['fallbacks', 'list several models in the `models` field of a request instead'],
    ['success_callback', 'usage is recorded automatically: `uk ai-gateway usage`'],
    ['cache', "response caching isn't supported"],
  ] as const)
    if (settings[word] !== undefined) plan.left.push(`litellm_settings.${word}: ${why}`)
  if (isObject(config.router_settings)) plan.left.push('router_settings: see docs/routing.md')
  const general = isObject(config.general_settings) ? config.general_settings : {}
  if (general.master_key !== undefined)
    plan.left.push('general_settings.master_key: create keys with `uk api-keys create`')
  if (general.database_url !== undefined)
    plan.left.push(
      "virtual keys in the proxy's database: import them with --keys and the output of GET /key/list?return_full_object=true",
    )
}
