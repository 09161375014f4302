import type { ProviderEndpoint } from '../../model/offer.ts'
import { type Transport, TransportFailed, modelInPath } from './transport.ts'

/**
 * Azure OpenAI's older paths: `{base}/deployments/{deployment}/…?api-version=…`. Returns null if the base ends in
 * `/v1`, which is OpenAI's own shape (learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle).
 */
export function azureTransport({ baseUrl, headers }: ProviderEndpoint, base: string): Transport | null {
  if (new URL(baseUrl).pathname.replace(/\/+$/, '').endsWith('/v1')) return null
  const version = Object.entries(headers).find(([name]) => name.toLowerCase() === 'x-uk-api-version')?.[1]
  return {
    wrap(send, { model }) {
      if (version === undefined || version === '')
        throw new TransportFailed({
          kind: 'model_not_found',
          message: 'This Azure URL requires an `api-version`. Set the header x-uk-api-version, or use …/openai/v1.',
        })
      const [path = '', query] = send.path.slice(base.length).split('?')
      const params = new URLSearchParams(query)
      params.set('api-version', version)
      return { ...send, path: `${base}/deployments/${modelInPath(model)}${path}?${params.toString()}` }
    },
  }
}
