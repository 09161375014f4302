import { setTimeout as sleep } from 'node:timers/promises'
import type { Payer } from '#engine/ledger/ledger.ts'
import { Refusal, refuse } from '#kernel/errors.ts'
import { type Id, newId } from '#kernel/ids.ts'
import type { Principal } from '#kernel/principal.ts'
import type { Billing } from '#kernel/usage.ts'
import { RetryPolicy } from '../routing/retry.ts'
import { choose } from '../routing/choose.ts'
import type { Gateway } from './parts.ts'
import { refusalOf } from '../model/refusal.ts'
import { newSeed } from '../routing/router.ts'
import { noSuchModel } from '../routing/model-names/unknown-model.ts'
import type { Chunk, CanonicalRequest } from '../model/canonical-request.ts'
import { type Served, DirectAttempt } from './direct-attempt.ts'
import { type Way, isAsked, wayOf } from '../translation/translate.ts'
import { conversationOf } from '../routing/cache-affinity.ts'
import { sketchOf, constraintsFor } from '../routing/constraints.ts'

export interface CompleteOptions {
  signal: AbortSignal
  payer: Payer
  /** Where the call comes from, for the ledger: `inference`, `chat`, `judge`, … */
  surface: string
  /** The call's id in the ledger; made here when absent. A further attempt with another provider has an id of its own. */
  id?: Id
  seed?: number
  /** Which providers may serve it. */
  only?: readonly string[]
}

/**
 * A model's answer to a CanonicalRequest. Iterate it once: the chunks as they come, the last one a `finish` or, when the answer broke
 * off after its beginning, an `error`. Before the first chunk it throws a Refusal: `not_found` (`param: 'model'`),
 * 402s, `no_route`, `context_length_exceeded`, `invalid_parameter`, `rate_limited`, `provider_error`, `timeout`. When the
 * signal fires or the consumer stops, the provider is left at once and what was produced is settled.
 */
export interface Completion extends AsyncIterable<Chunk> {
  /** Null until the first chunk, or until it is left; whole after the last. */
  readonly served: Served | null
}

export type CompleteTurn = (principal: Principal, canonical: CanonicalRequest, options: CompleteOptions) => Completion

/** The life of a metered call for callers inside this process. */
export const createCompleteTurn =
  (gateway: Gateway): CompleteTurn =>
  (principal, canonical, options) => {
    let served: Served | null = null
    return {
      get served() {
        return served
      },
      [Symbol.asyncIterator]: () => run(gateway, principal, canonical, options, (now) => (served = now)),
    }
  }

async function* run(
  gateway: Gateway,
  principal: Principal,
  canonical: CanonicalRequest,
  options: CompleteOptions,
  tell: (served: Served) => void,
): AsyncGenerator<Chunk, void, undefined> {
  const { signal, only, seed = newSeed() } = options
  signal.throwIfAborted()
  const offers = await gateway.directory.offers(principal, canonical.model)
  if (offers.length === 0)
    refuse('not_found', {
      // Who asks for it here is not known: areas that do know say what may have been meant.
      message: noSuchModel(canonical.model, []),
      param: 'model',
    })
  const conversation = offers.length > 1 ? conversationOf(principal.accountId, canonical, null) : null
  const cacheHolder = conversation === null ? null : gateway.cacheAffinity.of(conversation)
  const guards = (billing: Billing): boolean => gateway.engine.ledger.guards(options.payer, billing)
  const constraints = {
    ...constraintsFor(
      sketchOf(canonical as unknown as Record<string, unknown>, ['max_output_tokens']),
      seed,
      isAsked,
      guards,
    ),
    ...(only && { only }),
    ...(cacheHolder !== null && { cacheHolder }),
  }
  const candidates = choose([{ model: canonical.model, offers }], constraints, gateway.health, false, {
    unserved: (model) => noSuchModel(model, []),
    shapes: (shapes) => `\`${canonical.model}\` is served in the shape ${shapes}, in which nobody can be asked this.`,
  })
  const policy = new RetryPolicy(candidates, gateway.health)
  const { gateway: tallies } = gateway.engine.metrics
  for (let id = options.id ?? newId(); ; id = newId()) {
    const candidate = policy.current
    let way: Way
    try {
      way = wayOf(canonical, candidate.offer)
    } catch (error) {
      // What this one's shape has no place for, the next one's may have.
      if (error instanceof Refusal && candidates.length > 1 && policy.next() !== null) continue
      throw error
    }
    const attempt = new DirectAttempt(gateway, candidate, canonical, way, options, id, seed)
    const fault = yield* attempt.run(tell)
    if (fault === null) {
      const { usage } = attempt.served
      if (conversation !== null && usage !== null) gateway.cacheAffinity.note(conversation, candidate.offer, usage)
      return
    }
    if (conversation !== null) gateway.cacheAffinity.forget(conversation)
    tallies.fault(fault.kind)
    policy.failed(candidate, fault)
    const step = policy.next()
    if (step === null) throw refusalOf(fault)
    tallies.further(step.candidate === candidate ? 'retry' : 'fallback')
    if (step.waitMs > 0) await sleep(step.waitMs, undefined, { signal }).catch(() => signal.throwIfAborted())
  }
}
