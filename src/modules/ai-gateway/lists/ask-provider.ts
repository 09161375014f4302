import type { Outbound } from '#packages/http-client/outbound.ts'
import { providerOf } from '#gateway/providers/every-provider.ts'
import { TransportFailed } from '#gateway/providers/transport/transport.ts'
import { dispatch } from '#gateway/providers/dispatch.ts'
import { kindOf } from '#gateway/wire/faults/faults.ts'
import type { FaultKind } from '#gateway/model/canonical-request.ts'
import { scrub } from '#gateway/wire/scrub.ts'
import type { ProviderEndpoint } from '#gateway/model/offer.ts'
import { upstreamOf } from '#gateway/providers/upstream.ts'
import { FOREIGN, excessOf, parseForeign } from '#packages/json-scan/json-text.ts'
import { shorten } from '#core/text/shorten.ts'

/** The message is safe to show. */
export class AskFailed extends Error {
  override name = 'AskFailed'
  /** Null: no readable response. */
  readonly status: number | null
  readonly kind: FaultKind

  constructor(message: string, status: number | null = null, kind?: FaultKind) {
    super(message)
    this.status = status
    this.kind = kind ?? (status === null ? 'unreachable' : kindOf(status, message))
  }
}

const MAX_BYTES = 8 << 20
/** A model that doesn't exist, for probes whose URL contains the model. */
export const NO_MODEL = 'uk-no-such-model'

/** Returns the JSON response. `path` is relative to the base URL. Throws `AskFailed`. */
export async function getJson(
  outbound: Outbound,
  endpoint: ProviderEndpoint,
  path: string,
  { body, timeoutMs = 10_000 }: { body?: unknown; timeoutMs?: number } = {},
): Promise<unknown> {
  const fail = (message: string, status: number | null = null, kind?: FaultKind): never => {
    throw new AskFailed(scrub({ kind: 'unreachable', message }, endpoint).message, status, kind)
  }
  try {
    const { status, text } = await exchange(outbound, endpoint, path, body, timeoutMs)
    const excess = excessOf(text, FOREIGN)
    if (excess !== null) fail(`The provider’s response contains ${excess}.`, null, 'garbage')
    const json = parse(text)
    if (status >= 200 && status < 300) return json ?? fail('The provider’s response isn’t valid JSON.', null, 'garbage')
    return fail(`The provider returned status ${status}${errorMessageIn(json, text)}.`, status)
  } catch (error) {
    if (error instanceof AskFailed) throw error
    return error instanceof TransportFailed ? fail(error.message, null, error.fault.kind) : fail(why(error))
  }
}

/** Returns any response, including errors. Throws transport errors. */
export function exchange(
  outbound: Outbound,
  endpoint: ProviderEndpoint,
  path: string,
  body: unknown,
  timeoutMs: number,
): Promise<{ status: number; text: string }> {
  const upstream = upstreamOf(endpoint)
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>()
  const pieces: Buffer[] = []
  let size = 0
  let status = 0
  let abort: (reason: Error) => void = () => {}
  const timer = setTimeout(() => {
    const late = new AskFailed(`The provider didn’t respond within ${timeoutMs / 1000} s.`, null, 'timeout')
    abort(late)
    reject(late)
  }, timeoutMs)
  dispatch(
    outbound,
    upstream,
    {
      origin: upstream.origin,
      path: upstream.base + path,
      method: body === undefined ? 'GET' : 'POST',
      headers: [...upstream.headers, ...versionHeader(endpoint, upstream.names)],
      body: body === undefined ? null : Buffer.from(JSON.stringify(body)),
      mayBePrivate: upstream.mayBePrivate,
      credential: upstream.credential,
      // The response is shown to all users of the endpoint.
      party: endpoint.id,
      withinMs: timeoutMs,
    },
    { model: NO_MODEL, stream: false },
    {
      onRequestStart(controller) {
        abort = (reason) => controller.abort(reason)
      },
      onResponseStart(_, code) {
        status = code
      },
      onResponseData(controller, piece) {
        size += piece.length
        if (size > MAX_BYTES) controller.abort(new AskFailed('The provider’s response is too large.', null, 'garbage'))
        else pieces.push(piece)
      },
      onResponseEnd() {
        resolve({ status, text: Buffer.concat(pieces).toString() })
      },
      onResponseError(_, error) {
        reject(error)
      },
    },
  )
  return promise.finally(() => clearTimeout(timer))
}

const versionHeader = ({ shape }: ProviderEndpoint, names: ReadonlySet<string>): string[] =>
  shape === 'anthropic-messages' && !names.has('anthropic-version') ? ['anthropic-version', '2023-06-01'] : []

/**
 * For providers without a model list. Requesting a model that doesn't exist is free, and rejected only after the key is
 * accepted. Throws `AskFailed`.
 */
export async function checkKey(outbound: Outbound, endpoint: ProviderEndpoint, timeoutMs = 10_000): Promise<void> {
  const fail = (message: string, status: number | null = null, kind?: FaultKind): never => {
    throw new AskFailed(scrub({ kind: 'unreachable', message }, endpoint).message, status, kind)
  }
  const { path, body } = probeRequest(endpoint)
  let answer: { status: number; text: string }
  try {
    answer = await exchange(outbound, endpoint, path, body, timeoutMs)
  } catch (error) {
    if (error instanceof AskFailed) throw error
    return error instanceof TransportFailed ? fail(error.message, null, error.fault.kind) : fail(why(error))
  }
  const { status, text } = answer
  if (status !== 400 && status !== 404)
    fail(`The provider returned status ${status}${errorMessageIn(parseForeign(text) ?? null, text)}.`, status)
}

function probeRequest({ preset, shape }: ProviderEndpoint): { path: string; body: object } {
  const own = providerOf(preset)?.keyProbe?.(shape, NO_MODEL) ?? null
  if (own !== null) return own
  if (shape === 'gemini')
    return {
      path: `/models/${NO_MODEL}:generateContent`,
      body: { contents: [{ role: 'user', parts: [{ text: '.' }] }] },
    }
  const messages = [{ role: 'user', content: '.' }]
  return { path: '/chat/completions', body: { model: NO_MODEL, max_tokens: 1, messages } }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function errorMessageIn(json: unknown, text: string): string {
  const error = (json as { error?: unknown } | null)?.error ?? json
  const message = typeof error === 'string' ? error : (error as { message?: unknown } | null)?.message
  const words = typeof message === 'string' ? message : json === null ? text : ''
  const short = shorten(words.replace(/\s+/g, ' ').trim().replace(/\.$/, ''), 300)
  return short === '' ? '' : `: ${short}`
}

const reasons: Record<string, string> = {
  ECONNREFUSED: 'No server is listening at this address.',
  ECONNRESET: 'The provider closed the connection.',
  ENOTFOUND: 'The host name doesn’t exist.',
  EAI_AGAIN: 'The host name can’t be resolved right now.',
  EHOSTUNREACH: 'The host can’t be reached.',
  ENETUNREACH: 'The host’s network can’t be reached.',
  UK_CONNECT_TIMEOUT: 'The connection to the provider timed out.',
  UK_ANSWER_TIMEOUT: 'The provider didn’t respond in time.',
  UK_ANSWER_TOO_LARGE: 'The provider’s response is too large.',
  UK_CONNECTION_CLOSED: 'The provider closed the connection.',
}

function why(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (code === 'UK_ADDRESS_REFUSED')
    return `${(error as Error).message} An administrator can allow it with UK_UPSTREAM_ALLOW.`
  if (/CERT|SSL|TLS/.test(code)) return `The provider’s TLS certificate isn’t trusted (${code}).`
  return reasons[code] ?? `The provider can’t be reached${/^[A-Z_]{3,40}$/.test(code) ? ` (${code})` : ''}.`
}
