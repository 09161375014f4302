import type { ProviderEndpoint } from '../model/offer.ts'
import { quirksOwner } from './supports.ts'

export function takesKey(endpoint: ProviderEndpoint, url: URL): boolean {
  const own = URL.parse(endpoint.baseUrl)
  if (own === null || url.username !== '' || url.password !== '') return false
  if (url.origin === own.origin) return true
  const domain = quirksOwner(endpoint)?.keyDomain
  // A server of that shape at another address has other hosts, and the key isn't the vendor's.
  if (domain === undefined || !isUnder(own.hostname, domain)) return false
  return url.protocol === 'https:' && url.port === '' && isUnder(url.hostname, domain)
}

const isUnder = (host: string, domain: string): boolean => host === domain || host.endsWith(`.${domain}`)
