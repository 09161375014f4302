import type { Config } from '#config'
import type { Outbound } from '#engine/http-client/outbound.ts'
import type { ProviderEndpoint } from '#gateway/model/offer.ts'
import { AskFailed, ask } from './ask-provider.ts'
import { instanceSource, ollamaAddress } from '../endpoints/environment.ts'
import { type AskedModel, type Json, askModels, native, openaiModel, rowsIn } from './list-models.ts'
import { presetOf } from '../endpoints/presets.ts'
import type { Source } from '../endpoints/sources.ts'

/**
 * Engines that are looked for on this machine, at the ports they open unless told otherwise. What answers there may be
 * anybody's: it is taken for the engine only when every model that it lists bears the engine's own mark.
 */
interface Engine {
  preset: string
  /** Where its models are listed: at its base, or at its origin. */
  list: (outbound: Outbound, endpoint: ProviderEndpoint, timeoutMs: number) => Promise<unknown>
  isIts(row: Json): boolean
  model(row: Json): AskedModel
}

const atBase: Engine['list'] = (outbound, endpoint, timeoutMs) => ask(outbound, endpoint, '/models', { timeoutMs })

const engines: readonly Engine[] = [
  {
    preset: 'lm-studio',
    // Its own route says more than `/v1/models`, and nobody else has it (lmstudio.ai, REST API v0).
    list: (outbound, endpoint, timeoutMs) => ask(outbound, native(endpoint), '/api/v0/models', { timeoutMs }),
    isIts: ({ type, state }) => ['llm', 'vlm', 'embeddings'].includes(String(type)) && typeof state === 'string',
    model: (row) => ({
      ...openaiModel(row),
      capabilities: row.type === 'vlm' ? ['vision'] : [],
      embeds: row.type === 'embeddings',
    }),
  },
  // tools/server/server-context.cpp, vllm/entrypoints/openai: what each says owns its models, whoever made them.
  { preset: 'llama-cpp', list: atBase, isIts: ({ owned_by }) => owned_by === 'llamacpp', model: llamaModel },
  {
    preset: 'vllm',
    list: atBase,
    isIts: ({ owned_by, max_model_len: length }) => owned_by === 'vllm' && typeof length === 'number',
    model: openaiModel,
  },
]

/** llama.cpp says in `meta` how long the context was that the model was trained with. */
function llamaModel(row: Json): AskedModel {
  const { n_ctx_train: length } = (row.meta ?? {}) as Json
  return openaiModel({ ...row, context_length: row.context_length ?? length })
}

/** An Ollama and the others, wherever the configuration says to look. */
export function discoveredSources({ environment, localEngines }: Config, at: string): Source[] {
  const ollama = ollamaAddress(environment.OLLAMA_HOST)
  const others = localEngines ?? engines.map(({ preset }) => ({ preset, baseUrl: presetOf(preset)!.base_url! }))
  return [...(ollama === null ? [] : [{ preset: 'ollama', baseUrl: ollama }]), ...others].map(({ preset, baseUrl }) => {
    const { id, name, shape } = presetOf(preset)!
    return instanceSource('discovered', { slug: id, name, shape, baseUrl, billing: 'free', preset }, at)
  })
}

/** Models of an engine that is looked for. Throws `AskFailed` where nobody answers, or somebody else. */
export async function askDiscovered(
  outbound: Outbound,
  endpoint: ProviderEndpoint,
  timeoutMs: number,
): Promise<AskedModel[]> {
  const engine = engines.find(({ preset }) => preset === endpoint.preset)
  if (engine === undefined) return askModels(outbound, endpoint, timeoutMs)
  const rows = rowsIn(await engine.list(outbound, endpoint, timeoutMs), 'data')
  if (!rows.every((row) => engine.isIts(row)))
    throw new AskFailed(`What answers at ${endpoint.baseUrl} is not ${endpoint.name}.`)
  return rows.map((row) => engine.model(row)).filter(({ id }) => id !== '' && id.length <= 256)
}
