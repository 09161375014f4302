// Makes snapshot.json of the sources, so that the server loads one small file and no pricing package:
//   sh bin/run tools/catalogue/condense.ts
import { writeFileSync } from 'node:fs'
import type { Snapshot } from '#gateway/catalogue/catalogue.ts'
import type { Draft } from './draft.ts'
import { fromGenaiPrices, source as genaiPrices } from './from-genai-prices.ts'
import { fromLitellm, source as litellm } from './from-litellm.ts'
import { fromPiAi, source as piAi } from './from-pi-ai.ts'
import { abilitiesOf } from './media-abilities.ts'
import type { CatalogueModel } from '#gateway/catalogue/model.ts'

/** Vendors of their own models first, then those who serve others', then the resellers: the order of the catalogue. */
const providers: { name: string; piAi?: string; genaiPrices?: string; litellm?: string }[] = [
  { name: 'anthropic', piAi: 'anthropic' },
  { name: 'openai', piAi: 'openai', genaiPrices: 'openai' },
  { name: 'google', piAi: 'google', genaiPrices: 'google', litellm: 'gemini' },
  { name: 'xai', piAi: 'xai', genaiPrices: 'x-ai' },
  { name: 'deepseek', piAi: 'deepseek' },
  { name: 'mistral', piAi: 'mistral', genaiPrices: 'mistral' },
  { name: 'cohere', genaiPrices: 'cohere' },
  { name: 'voyageai', genaiPrices: 'voyageai' },
  { name: 'meta', piAi: 'meta' },
  { name: 'moonshotai', piAi: 'moonshotai' },
  { name: 'minimax', piAi: 'minimax' },
  { name: 'zai', piAi: 'zai' },
  { name: 'elevenlabs', litellm: 'elevenlabs' },
  { name: 'deepgram', litellm: 'deepgram' },
  { name: 'fal', litellm: 'fal_ai' },
  { name: 'azure', piAi: 'azure', genaiPrices: 'azure' },
  { name: 'bedrock', piAi: 'amazon-bedrock' },
  { name: 'vertex', piAi: 'google-vertex' },
  { name: 'groq', piAi: 'groq', genaiPrices: 'groq' },
  { name: 'cerebras', piAi: 'cerebras' },
  { name: 'together', piAi: 'together' },
  { name: 'fireworks', piAi: 'fireworks' },
  { name: 'openrouter', piAi: 'openrouter' },
]

export function condense(): Snapshot {
  const models = providers.flatMap((provider) => {
    const drafts = new Map<string, Draft>()
    if (provider.litellm)
      for (const draft of fromLitellm(provider.litellm, provider.name)) drafts.set(draft.upstream_model, draft)
    // The newer source holds where both know a model.
    if (provider.genaiPrices)
      for (const draft of fromGenaiPrices(provider.genaiPrices, provider.name, !provider.piAi))
        drafts.set(draft.upstream_model, draft)
    if (provider.piAi)
      for (const draft of fromPiAi(`${provider.piAi}.json`, provider.name)) drafts.set(draft.upstream_model, draft)
    return [...drafts.values()].toSorted(byId).map(complete)
  })
  return { sources: [piAi, genaiPrices, litellm], models }
}

const byId = (a: Draft, b: Draft): number => (a.upstream_model < b.upstream_model ? -1 : 1)

/** Neither source rates models or says when they came out. */
const complete = (draft: Draft): CatalogueModel => ({
  slug: `${draft.provider}/${draft.upstream_model}`,
  ...draft,
  ...mediaOf(draft),
  capability_index: null,
  capability_index_source: null,
  released_at: null,
})

function mediaOf(draft: Draft): Pick<CatalogueModel, 'media'> {
  const media = abilitiesOf(draft)
  return media === undefined ? {} : { media }
}

/** One model a line, for readable differences. */
function print({ sources, models }: Snapshot): string {
  const lines = models.map((model) => JSON.stringify(model)).join(',\n')
  return `{"sources":${JSON.stringify(sources)},\n"models":[\n${lines}\n]}\n`
}

if (import.meta.main) {
  const snapshot = condense()
  writeFileSync(new URL('../../src/gateway/catalogue/snapshot.json', import.meta.url), print(snapshot))
  process.stdout.write(
    `${snapshot.models.length} models, ${snapshot.models.filter((model) => model.pricing).length} with a price\n`,
  )
}
