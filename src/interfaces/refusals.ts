import { credentialsFor } from '#core/access.ts'
import type { AnyEndpoint } from '#core/contract.ts'
import { type Code, codes, describeCode } from '#core/errors.ts'
import { inputSchemas } from '#core/registry.ts'

/** All error codes of an endpoint: the common ones implied by its other fields, and its own. */
export function refusalsOf(endpoint: AnyEndpoint): Code[] {
  const { access, method, path, reply } = endpoint
  if (endpoint.refused !== undefined) return [endpoint.refused]
  const { query, body } = inputSchemas(endpoint)
  const credentials = credentialsFor(access)
  const takesKeys = credentials === 'key_or_session'
  const hasPlace = access.kind === 'resource' || access.kind === 'workspace'
  const changes = method !== 'GET'
  const fields = Object.keys(query.shape).length + Object.keys(body?.shape ?? {}).length > 0
  const may = new Set<Code>([
    'unknown_parameter',
    'unsupported_version',
    'internal_error',
    'unavailable',
    ...(endpoint.errors ?? []),
  ])
  const add = (when: boolean, ...more: Code[]) => more.forEach((code) => when && may.add(code))
  add(fields, 'invalid_parameter', 'missing_parameter')
  add(reply.kind === 'page', 'invalid_cursor')
  add(body !== null, 'malformed_json', 'payload_too_large', 'unsupported_media_type')
  add(endpoint.takes === 'bytes', 'payload_too_large')
  add(credentials !== 'none', 'missing_credentials', 'session_expired', 'rate_limited', 'concurrency_limited')
  add(takesKeys, 'invalid_api_key', 'expired_api_key', 'revoked_api_key', 'missing_scope')
  add(access.kind === 'account', 'capability_denied')
  add(credentials === 'session', 'cookie_session_required')
  add(takesKeys && endpoint.consent !== undefined, 'consent_required')
  add(changes && access.kind !== 'open' && access.kind !== 'secret', 'cross_site')
  add(!takesKeys, 'misdirected_request')
  add(hasPlace || path.includes(':'), 'not_found')
  add(hasPlace, 'insufficient_role')
  if (access.kind === 'resource') {
    add(access.capability !== undefined, 'capability_denied')
    add(changes && !access.inTrash, 'invalid_state')
    add(method === 'PATCH' || method === 'DELETE', 'precondition_failed')
  }
  return codes.filter((code) => may.has(code))
}

/** Error codes by HTTP status. */
export function refusalsByStatus(endpoint: AnyEndpoint): [status: number, codes: Code[]][] {
  const groups = Map.groupBy(refusalsOf(endpoint), (code) => describeCode(code).status)
  return [...groups].toSorted(([a], [b]) => a - b)
}
