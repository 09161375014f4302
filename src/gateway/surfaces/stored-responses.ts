import { RetrieveFailed, type RetrieveResult, retrieve } from '#packages/http-client/retrieve.ts'
import { refuse } from '#core/errors.ts'
import { parseForeign } from '#packages/json-scan/json-text.ts'
import type { ProviderEndpoint } from '../model/offer.ts'
import { scrub } from '../wire/scrub.ts'
import { fault, readFault } from '../wire/faults/faults.ts'
import { isObject } from '../model/json.ts'
import { supportsShape } from '../providers/supports.ts'
import { forwardedQuery } from '../passthrough/forwarded-headers.ts'
import type { UpstreamFault } from '../model/canonical-request.ts'
import { upstreamOf } from '../providers/upstream.ts'
import type { GatewayRequest } from '../request/request.ts'

const PATH = /^([\w-]{1,256})(?:\/(cancel|input_items))?$/
const methods: Readonly<Record<string, readonly string[]>> = {
  '': ['GET', 'HEAD', 'DELETE'],
  input_items: ['GET', 'HEAD'],
  cancel: ['POST'],
}

const MAX_BYTES = 32 << 20
const TIMEOUT_MS = 60_000
/** Limit of endpoints: more accounts at storing vendors are unlikely. */
const MAX_ASKED = 8

/**
 * Nothing is stored here, and in an account shared by the whole instance a response could belong to anyone. So only the
 * caller's endpoints and those of its workspaces are called; workspace members share what their key stores, as they do
 * at the vendor.
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
    request.after(askAll(request, keepers.slice(0, MAX_ASKED), `/responses/${path}${query}`), (answer) => {
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

/** The first endpoint that has it, else the failure that prevented an answer. */
async function askAll(
  request: GatewayRequest,
  keepers: readonly ProviderEndpoint[],
  path: string,
): Promise<{ json: object } | UpstreamFault | null> {
  const abort = new AbortController()
  request.onLeave(() => abort.abort())
  let firstFault: UpstreamFault | null = null
  for (const endpoint of keepers) {
    const answer = await ask(request, endpoint, path, abort.signal)
    if (abort.signal.aborted) break
    if ('kind' in answer) {
      firstFault = scrub(answer, endpoint)
      continue
    }
    const { status, headers, bytes } = answer
    if (status === 404) continue
    if (status >= 300) {
      firstFault = scrub(readFault(status, headers, bytes.toString()), endpoint)
      continue
    }
    const json = parseForeign(bytes)
    request.over()
    return isObject(json) ? { json } : scrub(readFault(502, headers, bytes.toString()), endpoint)
  }
  request.over()
  return firstFault
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
      mostBytes: MAX_BYTES,
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
