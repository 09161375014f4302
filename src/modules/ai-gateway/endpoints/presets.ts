import type { Shape } from '#gateway/model/offer.ts'
import { everyProvider } from '#gateway/providers/every-provider.ts'
import { refuse } from '#core/errors.ts'
import { originOf } from './address.ts'
import type { EndpointRow } from '../store.ts'

/**
 * A provider as the API lists it. What is known of each, and from which source, stands in `gateway/providers/`; what is in
 * none is null. A preset fills in what the caller leaves out and links an endpoint to the catalogue's models and prices.
 */
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

type Keyed = Pick<EndpointRow, 'preset' | 'base_url' | 'sealed_key' | 'header_names'>

/** Whether it has what its vendor lets nobody in without. Somebody else's server in its place may take none. */
export function hasKey({ preset, base_url, sealed_key, header_names }: Keyed): boolean {
  const known = presetOf(preset)
  if (known?.needs_key !== true || sealed_key !== null) return true
  // Customers with addresses of their own have gateways with addresses of their own, and headers of their own.
  if (known.base_url === null) return header_names.length > 0
  return (
    originOf(known.base_url) !== originOf(base_url) || known.key_headers.some((name) => header_names.includes(name))
  )
}

/** Refuses an endpoint without a key: it would take the names of its vendor's models and answer none of them. */
export function checkHasKey(endpoint: Keyed): void {
  const message = whyKeyless(endpoint)
  if (message !== null) refuse('missing_parameter', { param: 'api_key', message })
}

/** The step that would give it the key that it lacks; null: it lacks none. */
export function whyKeyless(endpoint: Keyed): string | null {
  if (hasKey(endpoint)) return null
  const { id, key_headers, base_url } = presetOf(endpoint.preset)!
  const names = key_headers.map((name) => `\`${name}\``).join(' or ')
  return `The preset \`${id}\` requires a key. Send \`api_key\`, or ${names} in \`headers\`.${base_url === null ? '' : ' For your own server without a key, set `base_url`.'}`
}
