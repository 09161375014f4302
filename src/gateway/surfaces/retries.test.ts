import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Code, Refusal, codes } from '#core/errors.ts'
import { faultOf } from '../passthrough/text-passthrough.ts'
import { type AnswerHeaders, readFault } from '../wire/faults/faults.ts'
import { type FaultKind, faultKinds } from '../model/canonical-request.ts'
import { compatACompact, compatAResponses } from './compat-a/responses.ts'
import { compatA } from './compat-a/surface.ts'
import { compatB } from './compat-b/surface.ts'
import { compatCFurther } from './compat-c/further.ts'
import { compatC } from './compat-c/surface.ts'

const surfaces = [compatA, compatAResponses, compatACompact, compatB, compatC, ...compatCFurther]

const shouldRetryHeaders = (failure: unknown) =>
  surfaces.map(({ error }) => error(failure, 'req').headers['x-should-retry'])
const every = (word: string | undefined) => surfaces.map(() => word)

/** Refusals that end without anyone's action, and why. All others last until the caller or the owner acts. */
const passing: Partial<Record<Code, string>> = {
  chat_busy: 'the run ends',
  computer_offline: 'the computer comes back',
  not_ready: 'it becomes ready',
  rate_limited: 'the bucket fills again',
  concurrency_limited: 'a call in flight ends',
  internal_error: 'nobody knows what it was',
  upstream_error: 'the provider recovers',
  provider_error: 'the provider recovers',
  unavailable: 'what is away comes back',
  engine_not_ready: 'the engine starts',
  shutting_down: 'another process takes over',
  interrupted: 'the server is there again',
  timeout: 'the next one may be faster',
}

test('each refusal of the catalog tells SDKs on every surface whether a retry may help', () => {
  for (const code of codes)
    assert.deepEqual(
      shouldRetryHeaders(new Refusal(code)),
      every(passing[code] === undefined ? 'false' : undefined),
      code,
    )
  assert.deepEqual(shouldRetryHeaders(new Error('odd')), every(undefined), 'what is not known may pass')
})

test('a refusal’s own retry advice overrides that of its code', () => {
  const headers = { 'x-should-retry': 'false' }
  assert.deepEqual(shouldRetryHeaders(new Refusal('provider_error', { headers })), every('false'))
})

/**
 * Temporary vendor faults. A rejected key, lack of money, an invalid request, or an unknown model need someone's
 * action.
 */
const healing: readonly FaultKind[] = [
  'rate_limited',
  'overloaded',
  'server_error',
  'timeout',
  'unreachable',
  'garbage',
]

test('each kind of vendor fault sets the retry headers, for every provider', () => {
  for (const kind of faultKinds)
    assert.deepEqual(
      shouldRetryHeaders({ kind, message: 'no', provider: 'acme', status: 500 }),
      every(healing.includes(kind) ? undefined : 'false'),
      kind,
    )
})

test('a forbidden address is permanent, a network failure is temporary', () => {
  const of = (code: string) => shouldRetryHeaders(faultOf(Object.assign(new Error('no'), { code })))
  assert.deepEqual(of('UK_ADDRESS_REFUSED'), every('false'))
  for (const code of ['ECONNREFUSED', 'ECONNRESET', 'UK_ANSWER_TIMEOUT', 'UK_NO_HTTP'])
    assert.deepEqual(of(code), every(undefined), code)
})

test('each status that a vendor can answer is classified; its own advice against retries is passed on', () => {
  const error = { error: { message: 'no' } }
  const isTemporary = (status: number, headers: AnswerHeaders = {}) => {
    const words = new Set(shouldRetryHeaders(readFault(status, headers, JSON.stringify(error))))
    assert.equal(words.size, 1)
    return [...words][0]
  }
  // Of the client errors only timeouts and rate limits are temporary; 424 is Bedrock's for a failed model.
  const passes = (status: number) => status < 400 || status >= 500 || [408, 424, 429].includes(status)
  for (let status = 300; status < 600; status++) {
    const lasts = !passes(status) || [501, 505].includes(status)
    assert.equal(isTemporary(status), lasts ? 'false' : undefined, String(status))
    assert.equal(isTemporary(status, { 'x-should-retry': 'false' }), 'false', String(status))
  }
})
