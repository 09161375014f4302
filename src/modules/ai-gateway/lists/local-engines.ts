import type { Config } from '#config'
import type { Outbound } from '#packages/http-client/outbound.ts'
import type { ProviderEndpoint } from '#gateway/model/offer.ts'
import { AskFailed, exchange, getJson } from './ask-provider.ts'
import { instanceSource, ollamaAddress } from '../endpoints/environment.ts'
import { type ListedModel, fetchModels, native, openaiModel, rowsIn } from './list-models.ts'
import { everyProvider, providerOf } from '#gateway/providers/every-provider.ts'
import { ollama } from '#gateway/providers/local/ollama.ts'
import { presetOf } from '../endpoints/presets.ts'
import type { Source } from '../endpoints/sources.ts'

const engines = everyProvider.filter(({ engine }) => engine !== undefined)

export function discoveredSources({ environment, localEngines }: Config, at: string): Source[] {
  const atOllama = ollamaAddress(environment.OLLAMA_HOST)
  const others =
    localEngines === null
      ? engines.map(({ id, baseUrl }) => ({ preset: id, baseUrl: baseUrl! }))
      : localEngines.map(({ preset, origin }) => ({
          preset,
          baseUrl: origin + new URL(presetOf(preset)!.base_url!).pathname.replace(/\/$/, ''),
        }))
  return [...(atOllama === null ? [] : [{ preset: ollama.id, baseUrl: atOllama }]), ...others].map(
    ({ preset, baseUrl }) => {
      const { id, name, shape } = presetOf(preset)!
      return instanceSource('discovered', { slug: id, name, shape, baseUrl, billing: 'free', preset }, at)
    },
  )
}

/** Throws `AskFailed` if nothing responds or another server does. */
export async function askDiscovered(
  outbound: Outbound,
  endpoint: ProviderEndpoint,
  timeoutMs: number,
): Promise<ListedModel[]> {
  const engine = providerOf(endpoint.preset)?.engine
  if (engine === undefined) return fetchModels(outbound, endpoint, timeoutMs)
  const somebodyElse = `The server at ${endpoint.baseUrl} isn’t ${endpoint.name}.`
  if ('page' in engine) {
    const { path, says, model } = engine.page
    const { text } = await exchange(outbound, endpoint, path, undefined, timeoutMs)
    if (!text.includes(says)) throw new AskFailed(somebodyElse)
    return [openaiModel({ id: model })]
  }
  const { path, beside } = engine.list
  const response = await getJson(outbound, beside === 'v1' ? native(endpoint) : endpoint, path, { timeoutMs })
  const rows = rowsIn(response, 'data')
  // Any server may use this port. It's the engine only if every listed model has the engine's mark.
  if (!rows.every((row) => engine.isIts(row))) throw new AskFailed(somebodyElse)
  return rows
    .map((row) => {
      const { row: further = row, ...more } = engine.read?.(row) ?? {}
      return { ...openaiModel(further), ...more }
    })
    .filter(({ id }) => id !== '' && id.length <= 256)
}
