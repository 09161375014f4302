import type { AddressPolicy } from '#packages/http-client/address.ts'
import { refuse } from '#core/errors.ts'
import type { Shape } from '#gateway/model/offer.ts'

/**
 * Normalizes a base URL: no credentials, query or trailing slash. Refuses literal private addresses. Host names are
 * resolved and checked on every connection.
 */
export function checkBaseUrl(words: string, shape: Shape, policy: AddressPolicy | null, administers = false): string {
  const url = URL.parse(words)
  const wrong = (message: string): never => refuse('invalid_parameter', { param: 'base_url', message })
  if (url === null || !/^https?:$/.test(url.protocol)) return wrong('`base_url` must start with https:// or http://.')
  if (url.username !== '' || url.password !== '')
    return wrong('`base_url` can’t include a user or password. Send the key as `api_key`.')
  if (url.search !== '' || url.hash !== '') return wrong('`base_url` can’t have a query or a fragment.')
  if (policy !== null) checkAddress(url, policy, administers)
  const path = url.pathname.replace(/\/+$/, '')
  // These clients' paths include the version.
  const bare = shape === 'anthropic-messages' || shape === 'ollama' ? path.replace(/\/v1$/, '') : path
  return url.origin + bare
}

function checkAddress({ hostname, port, protocol }: URL, policy: AddressPolicy, administers: boolean): void {
  const number = port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port)
  const host = hostname.replace(/^\[|\]$/g, '')
  const local = /(^|\.)localhost$/.test(host)
  if (!local && !/^[\d.]+$/.test(host) && !host.includes(':')) return
  if (policy.permits(host, local ? '127.0.0.1' : host, number)) return
  const remedy = administers
    ? 'As an administrator, add the endpoint with `instance: true` to make it available to all users, or allow the address'
    : 'An administrator can allow it'
  refuse('policy_denied', {
    param: 'base_url',
    message: `${hostname} is a private address, which isn’t allowed. ${remedy} with UK_UPSTREAM_ALLOW=${hostname}:${number}.`,
  })
}

export const originOf = (baseUrl: string): string => new URL(baseUrl).origin
