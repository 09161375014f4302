import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RetryPolicy } from './retry.ts'
import { Health } from './health.ts'
import { offerOf } from '../model/offer-of.test.ts'
import type { Candidate } from './router.ts'
import type { FaultKind, UpstreamFault } from '../model/canonical-request.ts'

const candidate = (slug: string, requestedModel = 'm', more: Parameters<typeof offerOf>[0] = {}): Candidate => ({
  offer: offerOf({ ...more, endpoint: { slug } }),
  asked: requestedModel,
  variant: '',
  weight: 1,
  reason: '',
})
const fault = (kind: FaultKind, retry_after_seconds?: number): UpstreamFault => ({
  kind,
  message: kind,
  ...(retry_after_seconds !== undefined && { retry_after_seconds }),
})

/**
 * Returns the tried candidates, each failing with its next fault, and the wait before each. The clock only advances by
 * the waits.
 */
function play(candidates: Candidate[], faults: Record<string, UpstreamFault[]>, chance = 0.5): string[] {
  let now = 0
  const policy = new RetryPolicy(candidates, new Health(), { startedAt: 0, now: () => now, chance: () => chance })
  const log: string[] = []
  for (let at = policy.current, wait = 0; ;) {
    const { slug } = at.offer.endpoint
    now += wait
    log.push(wait > 0 ? `${slug}+${wait}` : slug)
    const next = faults[slug]!.shift()
    if (next === undefined) return log
    policy.failed(at, next)
    const step = policy.next()
    if (step === null) return [...log, 'given up']
    at = step.candidate
    wait = step.waitMs
  }
}

test('all candidates are tried at once, then after a jittered wait those with temporary faults', () => {
  const all = [candidate('a'), candidate('b'), candidate('c')]
  assert.deepEqual(play(all, { a: [fault('overloaded')], b: [fault('upstream_key')], c: [fault('timeout')] }), [
    'a',
    'b',
    'c',
    'a+100',
  ])
  assert.deepEqual(
    play(all, {
      a: [fault('overloaded'), fault('overloaded'), fault('overloaded')],
      b: [fault('server_error'), fault('server_error')],
      c: [fault('garbage')],
    }),
    ['a', 'b', 'c', 'a+100', 'b', 'a+200', 'given up'],
  )
})

test('a provider’s requested delay is respected, unless it is long enough to be the client’s', () => {
  const one = [candidate('a')]
  assert.deepEqual(play(one, { a: [fault('rate_limited', 3)] }), ['a', 'a+3000'])
  assert.deepEqual(play(one, { a: [fault('rate_limited', 5)] }), ['a', 'given up'])
  assert.deepEqual(play(one, { a: [fault('overloaded'), fault('overloaded', 30)] }, 1), ['a', 'a+200', 'given up'])
})

test('a faulty request isn’t tried at another provider, but with another model if the request names one', () => {
  const all = [candidate('a'), candidate('b'), candidate('c', 'other')]
  assert.deepEqual(play(all.slice(0, 2), { a: [fault('bad_request')] }), ['a', 'given up'])
  assert.deepEqual(play(all, { a: [fault('bad_request')], c: [] }), ['a', 'c'])
  assert.deepEqual(play(all, { a: [fault('too_large')], c: [fault('server_error')] }), ['a', 'c', 'c+100'])
})

test('a request that is too long for one provider goes to one with a larger context', () => {
  const small = candidate('small', 'm', { contextLength: 10 })
  const large = candidate('large', 'm', { contextLength: 20 })
  assert.deepEqual(play([small, large], { small: [fault('context_length')], large: [] }), ['small', 'large'])
  assert.deepEqual(play([large, small], { large: [fault('context_length')] }), ['large', 'given up'])
})

test('a simulated model repeats its script, so it is tried once', () => {
  assert.deepEqual(play([candidate('sim')], { sim: [fault('overloaded')] }), ['sim', 'given up'])
})
