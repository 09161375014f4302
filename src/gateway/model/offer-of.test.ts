import { newId } from '#core/ids.ts'
import type { Offer, ProviderEndpoint } from './offer.ts'

/** Builds an offer for tests from valid defaults and the given values. */
export function offerOf({
  endpoint,
  ...offer
}: Partial<Omit<Offer, 'endpoint'>> & { endpoint?: Partial<ProviderEndpoint> } = {}): Offer {
  const slug = endpoint?.slug ?? 'acme'
  return {
    slug: `${slug}/model`,
    upstreamModel: 'model',
    contextLength: null,
    maxOutputTokens: null,
    capabilities: [],
    pricing: null,
    priceSource: null,
    priceDate: null,
    ...offer,
    endpoint: {
      id: newId(),
      slug,
      name: slug,
      shape: 'openai-chat',
      baseUrl: 'https://acme.example/v1',
      apiKey: 'sk-acme',
      headers: {},
      billing: 'credits',
      priority: 0,
      weight: 1,
      preset: null,
      mayBePrivate: false,
      ...endpoint,
    },
  }
}
