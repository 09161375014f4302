import { explainError } from '#infra/http-client/retrieve.ts'
import type { UpstreamFault } from '../model/canonical-request.ts'
import type { ProviderEndpoint } from '../model/offer.ts'
import { readFault } from '../wire/faults/faults.ts'
import { scrub } from '../wire/scrub.ts'
import { MediaFault, type MediaFaultKind } from './adapter.ts'
import { type ExchangeBroke, TooManyBytes } from './exchange.ts'

/** Statuses by which a server says that it has not taken a request up (RFC 9110, 15.5 and 15.6.4; 529: overloaded). */
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

/** A vendor's no, from its status and whatever envelope it comes in. */
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
  const told = readFault(status, headers, body)
  const { message } = scrub(told, endpoint)
  const kind =
    told.kind === 'bad_request' && MODERATED.test(`${told.code ?? ''} ${body}`) ? 'refused_content' : kinds[told.kind]
  return new MediaFault(kind, message, {
    status,
    sent: takenUp(status),
    retryAfterSeconds: told.retry_after_seconds ?? null,
  })
}

/** A request that came to nothing, or an answer that broke off, in words without secrets. */
export function brokenOff({ why, sent }: ExchangeBroke, url: URL): MediaFault {
  if (why instanceof MediaFault) return why
  if (why instanceof TooManyBytes) return new MediaFault('bad_answer', why.message)
  const told = explainError(why, url)
  const late = 'why' in told && told.why === 'too_slow'
  return new MediaFault(late ? 'timeout' : 'unreachable', told.message, { sent })
}
