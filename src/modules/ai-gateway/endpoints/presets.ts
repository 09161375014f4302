import type { Shape } from '#gateway/model/offer.ts'
import { everyProvider } from '#gateway/providers/every-provider.ts'
import { refuse } from '#core/errors.ts'
import { originOf } from './address.ts'
import type { EndpointRow } from '../store.ts'

/** Null: unknown. A preset fills in omitted settings and links an endpoint to the catalogue's models and prices. */
export interface Preset {
  id: string
  name: string
  shape: Shape
  base_url: string | null
  needs_key: boolean | null
  key_headers: readonly string[]
  reports_cost: boolean | null
  catalogue: string | null
  local: boolean
  env: string | null
}

export const presets: readonly Preset[] = everyProvider.map(
  ({ id, name, shape, baseUrl, needsKey, keyHeaders, reportsCost, catalogue, local, env }) => ({
    id,
    name,
    shape,
    base_url: baseUrl,
    needs_key: needsKey,
    key_headers: keyHeaders,
    reports_cost: reportsCost,
    catalogue,
    local,
    env,
  }),
)

const byId = new Map(presets.map((preset) => [preset.id, preset]))
export const presetOf = (id: string | null): Preset | null => (id === null ? null : (byId.get(id) ?? null))

type KeyFields = Pick<EndpointRow, 'preset' | 'base_url' | 'sealed_key' | 'header_names'>

/** Whether the endpoint has the key its vendor requires. Another server at `base_url` may not require one. */
export function hasKey({ preset, base_url, sealed_key, header_names }: KeyFields): boolean {
  const definition = presetOf(preset)
  if (definition?.needs_key !== true || sealed_key !== null) return true
  // Presets without a URL are customer-specific gateways, whose headers vary.
  if (definition.base_url === null) return header_names.length > 0
  return (
    originOf(definition.base_url) !== originOf(base_url) ||
    definition.key_headers.some((name) => header_names.includes(name))
  )
}

/** Refuses an endpoint without a key: it would claim the vendor's model names and fail every request. */
export function checkHasKey(endpoint: KeyFields): void {
  const message = whyKeyless(endpoint)
  if (message !== null) refuse('missing_parameter', { param: 'api_key', message })
}

export function whyKeyless(endpoint: KeyFields): string | null {
  if (hasKey(endpoint)) return null
  const { id, key_headers, base_url } = presetOf(endpoint.preset)!
  const names = key_headers.map((name) => `\`${name}\``).join(' or ')
  return `The preset \`${id}\` requires a key. Send \`api_key\`, or ${names} in \`headers\`.${base_url === null ? '' : ' For your own server without a key, set `base_url`.'}`
}
