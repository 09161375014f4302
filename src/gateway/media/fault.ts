import { explainError } from '#packages/http-client/retrieve.ts'
import type { UpstreamFault } from '../model/canonical-request.ts'
import type { ProviderEndpoint } from '../model/offer.ts'
import { readFault } from '../wire/faults/faults.ts'
import { scrub } from '../wire/scrub.ts'
import { MediaFault, type MediaFaultKind } from './adapter.ts'
import { type ExchangeBroke, TooManyBytes } from './exchange.ts'

/**
 * False for statuses by which a server says that it didn't process a request (RFC 9110, 15.5 and 15.6.4; 529:
 * overloaded).
 */
const takenUp = (status: number): boolean => status < 400 || (status >= 500 && status !== 503 && status !== 529)

const MODERATED = /moderat|content[ _-]?(policy|filter|violation)|safety|flagged|prohibited|nsfw|sensitive/i

const kinds: Record<UpstreamFault['kind'], MediaFaultKind> = {
  bad_request: 'bad_request',
  context_length: 'bad_request',
  too_large: 'bad_request',
  upstream_key: 'credential',
  upstream_payment: 'credential',
  model_not_found: 'not_found',
  rate_limited: 'rate_limited',
  overloaded: 'overloaded',
  server_error: 'bad_answer',
  timeout: 'timeout',
  unreachable: 'unreachable',
  garbage: 'bad_answer',
  withdrawn: 'not_found',
}

export function faultOf(
  status: number,
  headers: Readonly<Record<string, string>>,
  body: string,
  endpoint: ProviderEndpoint,
): MediaFault {
  if (status < 400)
    return new MediaFault('bad_answer', `The provider returned a redirect (${status}), which isn’t followed.`, {
      status,
    })
  const fault = readFault(status, headers, body)
  const { message } = scrub(fault, endpoint)
  const kind =
    fault.kind === 'bad_request' && MODERATED.test(`${fault.code ?? ''} ${body}`)
      ? 'refused_content'
      : kinds[fault.kind]
  return new MediaFault(kind, message, {
    status,
    sent: takenUp(status),
    retryAfterSeconds: fault.retry_after_seconds ?? null,
  })
}

export function brokenOff({ why, sent: isSent }: ExchangeBroke, url: URL): MediaFault {
  if (why instanceof MediaFault) return why
  if (why instanceof TooManyBytes) return new MediaFault('bad_answer', why.message)
  const explanation = explainError(why, url)
  const late = 'why' in explanation && explanation.why === 'too_slow'
  return new MediaFault(late ? 'timeout' : 'unreachable', explanation.message, { sent: isSent })
}
