import type { Config } from '#config'
import type { Log } from '#infra/log.ts'
import { idOf } from '#core/ids.ts'
import type { ProviderEndpoint } from '#gateway/model/offer.ts'
import { simMediaModels, simModels } from '#gateway/sim/offers.ts'
import { checkBaseUrl } from './address.ts'
import { type Preset, presets } from './presets.ts'
import type { Source } from './sources.ts'
import { INSTANCE } from '../store.ts'

export function instanceSource(
  from: Source['from'],
  endpoint: Pick<ProviderEndpoint, 'slug' | 'name' | 'shape' | 'baseUrl'> & Partial<ProviderEndpoint>,
  at: string,
): Source {
  return {
    from,
    ownerId: INSTANCE,
    workspaceId: null,
    models: [],
    createdAt: at,
    updatedAt: at,
    endpoint: {
      id: idOf('instance', from, endpoint.slug),
      apiKey: null,
      headers: {},
      billing: 'credits',
      priority: 0,
      weight: 1,
      preset: null,
      mayBePrivate: true,
      ...((from === 'simulated' || from === 'server' || from === 'discovered') && {
        dataPolicy: { keeps: false, trains: false },
      }),
      ...endpoint,
    },
  }
}

/** From `OPENAI_API_KEY`, `OPENAI_BASE_URL` and so on. `at`: when this process started. */
export function environmentSources(config: Config, log: Log, at: string): Source[] {
  const sources = presets.flatMap((preset) => fromPreset(config.environment, preset, log, at) ?? [])
  if (config.sim)
    sources.push({
      ...instanceSource('simulated', { slug: 'sim', name: 'Simulated', shape: 'openai-chat', baseUrl: '' }, at),
      own: [...simModels, ...simMediaModels],
    })
  return sources
}

function fromPreset(
  environment: Config['environment'],
  { id, name, shape, env, base_url }: Preset,
  log: Log,
  at: string,
): Source | null {
  const apiKey = env === null ? undefined : environment[`${env}_API_KEY`]?.trim()
  if (!apiKey) return null
  const configuredUrl = environment[`${env}_BASE_URL`]?.trim() || base_url
  try {
    const baseUrl = checkBaseUrl(configuredUrl ?? '', shape, null)
    return instanceSource('environment', { slug: id, name, shape, baseUrl, apiKey, preset: id }, at)
  } catch {
    log.warn({ variable: `${env}_BASE_URL` }, 'an instance provider has an invalid URL and is ignored')
    return null
  }
}

/** The address to probe for Ollama, or null. As in Ollama's own clients, scheme and port are optional. */
export function ollamaAddress(words: string | undefined): string | null {
  const value = words?.trim() ?? ''
  if (value === 'off') return null
  if (value === '') return 'http://127.0.0.1:11434'
  const url = URL.parse(/^https?:\/\//.test(value) ? value : `http://${value}`)
  if (url === null) return null
  const port = /:\d+\/?$/.test(value) ? '' : url.protocol === 'http:' && !value.startsWith('http') ? ':11434' : ''
  // Wildcard listen addresses can't be connected to.
  const host =
    url.hostname === '0.0.0.0' || url.hostname === '[::]' ? `127.0.0.1${url.port && `:${url.port}`}` : url.host
  return `${url.protocol}//${host}${port}${url.pathname.replace(/\/+$/, '')}`
}
