import type { AnyEndpoint } from '#core/contract.ts'
import { type Code, codes, describeCode } from '#core/errors.ts'
import { inputSchemas } from '#core/registry.ts'

/** All error codes of an endpoint: the common ones implied by its other fields, and its own. */
export function refusalsOf(endpoint: AnyEndpoint): Code[] {
  const { auth = 'any', method, path, scope, on, within, reply, inAnyStatus } = endpoint
  if (endpoint.refused !== undefined) return [endpoint.refused]
  const { query, body } = inputSchemas(endpoint)
  const known = auth === 'any' || auth === 'session'
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
  add(known, 'missing_credentials', 'session_expired', 'rate_limited', 'concurrency_limited')
  add(auth === 'any', 'invalid_api_key', 'expired_api_key', 'revoked_api_key')
  add(auth === 'any' && scope !== null, 'missing_scope')
  add(endpoint.ofAccount === true || endpoint.capability !== undefined, 'capability_denied')
  add(auth === 'session', 'cookie_session_required')
  add(auth === 'any' && endpoint.consent !== undefined, 'consent_required')
  add(changes && auth !== 'open', 'cross_site')
  add(auth !== 'any', 'misdirected_request')
  add(on !== undefined || within !== undefined || path.includes(':'), 'not_found')
  add(on !== undefined || within !== undefined, 'insufficient_role')
  add(on !== undefined && changes && !inAnyStatus, 'invalid_state')
  add((method === 'PATCH' || method === 'DELETE') && on !== undefined, 'precondition_failed')
  return codes.filter((code) => may.has(code))
}

/** Error codes by HTTP status. */
export function refusalsByStatus(endpoint: AnyEndpoint): [status: number, codes: Code[]][] {
  const groups = Map.groupBy(refusalsOf(endpoint), (code) => describeCode(code).status)
  return [...groups].toSorted(([a], [b]) => a - b)
}
