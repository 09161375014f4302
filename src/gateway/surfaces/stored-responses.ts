import { RetrieveFailed, type RetrieveResult, retrieve } from '#infra/http-client/retrieve.ts'
import { refuse } from '#core/errors.ts'
import { parseForeign } from '#core/json/json-text.ts'
import type { ProviderEndpoint } from '../model/offer.ts'
import { scrub } from '../wire/scrub.ts'
import { fault, readFault } from '../wire/faults/faults.ts'
import { isObject } from '../model/json.ts'
import { supportsShape } from '../providers/supports.ts'
import { forwardedQuery } from '../passthrough/forwarded-headers.ts'
import type { UpstreamFault } from '../model/canonical-request.ts'
import { upstreamOf } from '../providers/upstream.ts'
import type { GatewayRequest } from '../request/request.ts'

/** A response's id, and what of it; method by method what may be asked. */
const PATH = /^([\w-]{1,256})(?:\/(cancel|input_items))?$/
const methods: Readonly<Record<string, readonly string[]>> = {
  '': ['GET', 'HEAD', 'DELETE'],
  input_items: ['GET', 'HEAD'],
  cancel: ['POST'],
}

const MOST_BYTES = 32 << 20
const TIMEOUT_MS = 60_000
/** Nobody has more accounts at vendors that store. */
const MOST_ASKED = 8

/**
 * `/responses/{id}`: what a vendor keeps of earlier responses, read, deleted or cancelled where it is kept. Nothing is
 * stored here, and in an account that a whole instance shares it could be anybody's: so only the endpoints of the
 * caller and of its workspaces are asked, whose members share what their key stores as they do at the vendor.
 */
export function passStored(request: GatewayRequest, path: string): void {
  const method = request.incoming.method!
  const [, id, part = ''] =
    PATH.exec(path) ?? refuse('not_found', { message: `There is no response at \`${path}\`.`, param: 'response_id' })
  if (!methods[part]!.includes(method)) {
    const allow = methods[part]!.join(', ')
    refuse('method_not_allowed', { message: `This path supports ${allow}.`, headers: { allow } })
  }
  const query = forwardedQuery(request.incoming.url!)
  if (/[?&]stream=true/.test(query))
    refuse('invalid_parameter', { message: 'Stored responses can’t be streamed here.', param: 'stream' })
  request.after(request.gateway.directory.models(request.caller.principal), (rows) => {
    const keepers = [...new Set(rows.map(({ endpoint }) => endpoint))].filter(
      (endpoint) =>
        endpoint.billing === 'byok' &&
        supportsShape(endpoint, 'openai-responses') &&
        upstreamOf(endpoint).transport === null,
    )
    request.after(askAll(request, keepers.slice(0, MOST_ASKED), `/responses/${path}${query}`), (answer) => {
      if (answer === null)
        refuse('not_found', {
          message: `Response with id '${id}' not found: only responses stored in your own provider account can be retrieved.`,
          param: 'response_id',
        })
      else if ('kind' in answer) request.fail(answer)
      else request.json(200, answer.json)
    })
  })
}

/** The first who has it; else what kept somebody from saying so; null: nobody has. */
async function askAll(
  request: GatewayRequest,
  keepers: readonly ProviderEndpoint[],
  path: string,
): Promise<{ json: object } | UpstreamFault | null> {
  const left = new AbortController()
  request.onLeave(() => left.abort())
  let failed: UpstreamFault | null = null
  for (const endpoint of keepers) {
    const answer = await ask(request, endpoint, path, left.signal)
    if (left.signal.aborted) break
    if ('kind' in answer) {
      failed = scrub(answer, endpoint)
      continue
    }
    const { status, headers, bytes } = answer
    if (status === 404) continue
    if (status >= 300) {
      failed = scrub(readFault(status, headers, bytes.toString()), endpoint)
      continue
    }
    const json = parseForeign(bytes)
    request.over()
    return isObject(json) ? { json } : scrub(readFault(502, headers, bytes.toString()), endpoint)
  }
  request.over()
  return failed
}

async function ask(
  { gateway, incoming, caller }: GatewayRequest,
  endpoint: ProviderEndpoint,
  path: string,
  signal: AbortSignal,
): Promise<RetrieveResult | UpstreamFault> {
  const { origin, base, headers, mayBePrivate, credential } = upstreamOf(endpoint)
  try {
    return await retrieve(gateway.outbound, {
      url: new URL(`${origin}${base}${path}`),
      method: incoming.method === 'HEAD' ? 'GET' : (incoming.method as 'GET' | 'POST' | 'DELETE'),
      headers: headers.filter((_, i) => headers[i - (i % 2)] !== 'accept-encoding'),
      mayBePrivate,
      mostBytes: MOST_BYTES,
      timeoutMs: TIMEOUT_MS,
      hops: 0,
      credential,
      party: caller.payer.accountId,
      signal,
    })
  } catch (error) {
    if (error instanceof RetrieveFailed) return fault('unreachable', error.message, null, {})
    if (signal.aborted) return fault('unreachable', 'The client disconnected.', null, {})
    throw error
  }
}
