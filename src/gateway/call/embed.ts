import type { Payer } from '#engine/ledger/ledger.ts'
import type { Outbound } from '#engine/http-client/outbound.ts'
import { RetrieveFailed, retrieve } from '#engine/http-client/retrieve.ts'
import { refuse } from '#kernel/errors.ts'
import { type Id, newId } from '#kernel/ids.ts'
import type { Principal } from '#kernel/principal.ts'
import { usageOf } from '#kernel/usage.ts'
import { dispatch } from '../providers/transport/dispatch.ts'
import type { Offer } from '../model/offer.ts'
import { embeddingWireOf } from '../wire/embeddings.ts'
import { Metering } from './metering.ts'
import type { Gateway } from './parts.ts'
import { newSeed, route } from '../routing/router.ts'
import { upstreamOf } from '../providers/transport/upstream.ts'

export interface EmbedOptions {
  signal: AbortSignal
  payer: Payer
  /** Where the call comes from, for the ledger: `search`. */
  surface: string
}

/** A vector per text, in their order, each of length 1. */
export interface Embedded {
  /** The platform's id of the model that served. */
  model: string
  vectors: Float32Array[]
}

export type Embed = (
  principal: Principal,
  model: string,
  texts: readonly string[],
  options: EmbedOptions,
) => Promise<Embedded>

const MOST_BYTES = 64 << 20
const TIMEOUT_MS = 60_000

export const createEmbed =
  (gateway: Gateway): Embed =>
  async (principal, model, texts, options) => {
    const offers = (await gateway.directory.offers(principal, model)).filter(
      ({ endpoint }) => embeddingWireOf(endpoint.shape) !== null,
    )
    if (offers.length === 0)
      refuse('not_found', { param: 'model', message: `The embedding model \`${model}\` does not exist here.` })
    const { candidates } = route(offers, { seed: newSeed(), needs: [] }, gateway.health, model)
    if (candidates.length === 0) refuse('no_route', { message: `No provider of \`${model}\` can embed now.` })
    let failure: unknown
    for (const { offer } of candidates.slice(0, 3))
      try {
        return { model: offer.slug, vectors: await attempt(gateway, offer, texts, options) }
      } catch (error) {
        if (!(error instanceof RetrieveFailed)) throw error
        failure = error
      }
    return refuse('provider_error', { message: (failure as RetrieveFailed).message })
  }

async function attempt(
  gateway: Gateway,
  offer: Offer,
  texts: readonly string[],
  { signal, payer, surface }: EmbedOptions,
): Promise<Float32Array[]> {
  const metering = new Metering(gateway.engine.ledger, offer, { id: newId(), payer, surface })
  const startedAt = performance.now()
  // A token is at least a byte of the text.
  const inputTokens = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
  if (metering.guarded) await metering.reserve({ inputTokens, maxTokens: 0, n: 1 })
  if (signal.aborted) metering.release()
  signal.throwIfAborted()
  metering.sent(inputTokens, { characters: 0 })
  try {
    const { vectors, tokens } = await ask(gateway, offer, texts, payer.accountId, signal)
    metering.settle({
      status: 'succeeded',
      usage: usageOf({ input_tokens: tokens ?? Math.ceil(inputTokens / 4), requests: 1 }),
      reportedUsd: undefined,
      estimated: tokens === null,
      finishReason: null,
      firstTokenMs: null,
      durationMs: performance.now() - startedAt,
      streamed: false,
    })
    return vectors
  } catch (error) {
    metering.fail(performance.now() - startedAt, false)
    throw error
  }
}

async function ask(
  { outbound }: Gateway,
  { endpoint, upstreamModel }: Offer,
  texts: readonly string[],
  party: Id,
  signal: AbortSignal,
) {
  const wire = embeddingWireOf(endpoint.shape)!
  const upstream = upstreamOf(endpoint)
  const { origin, base, headers, mayBePrivate, credential } = upstream
  const wrapped: Pick<Outbound, 'dispatch'> = {
    dispatch: (send, handler) => dispatch(outbound, upstream, send, { model: upstreamModel, stream: false }, handler),
  }
  const { status, bytes } = await retrieve(wrapped, {
    url: new URL(`${origin}${base}${wire.path(upstreamModel)}`),
    method: 'POST',
    headers: headers.filter((_, i) => headers[i - (i % 2)] !== 'accept-encoding'),
    body: Buffer.from(JSON.stringify(wire.body(upstreamModel, texts))),
    mayBePrivate,
    mostBytes: MOST_BYTES,
    timeoutMs: TIMEOUT_MS,
    hops: 0,
    credential,
    party,
    signal,
  })
  if (status !== 200)
    throw new RetrieveFailed('garbled', `${endpoint.slug} answered ${status} to a request for embeddings.`)
  const read = wire.read(parse(bytes), texts.length)
  if (read === null || read.vectors.some(({ length }) => length !== read.vectors[0]!.length))
    throw new RetrieveFailed('garbled', `${endpoint.slug} answered something else than embeddings.`)
  return { vectors: read.vectors.map(unit), tokens: read.tokens }
}

function unit(values: readonly number[]): Float32Array {
  const length = Math.hypot(...values) || 1
  return Float32Array.from(values, (value) => value / length)
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString())
  } catch {
    return null
  }
}
