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

const told = (failure: unknown) => surfaces.map(({ error }) => error(failure, 'req').headers['x-should-retry'])
const every = (word: string | undefined) => surfaces.map(() => word)

/** Refusals that end without anybody doing anything about them, and why. All others last until the caller or the owner acts. */
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

test('each refusal of the catalogue says to the SDKs’ retries whether one may help, on every surface', () => {
  for (const code of codes)
    assert.deepEqual(told(new Refusal(code)), every(passing[code] === undefined ? 'false' : undefined), code)
  assert.deepEqual(told(new Error('odd')), every(undefined), 'what is not known may pass')
})

test('a refusal that knows better than its code is heard', () => {
  const headers = { 'x-should-retry': 'false' }
  assert.deepEqual(told(new Refusal('provider_error', { headers })), every('false'))
})

/** Vendor faults that time heals. A key, money, the request and the model's name need somebody's hand. */
const healing: readonly FaultKind[] = [
  'rate_limited',
  'overloaded',
  'server_error',
  'timeout',
  'unreachable',
  'garbage',
]

test('each kind of vendor’s fault says so too, whatever its provider', () => {
  for (const kind of faultKinds)
    assert.deepEqual(
      told({ kind, message: 'no', provider: 'acme', status: 500 }),
      every(healing.includes(kind) ? undefined : 'false'),
      kind,
    )
})

test('an address that nobody allowed stays so, a network that is away does not', () => {
  const of = (code: string) => told(faultOf(Object.assign(new Error('no'), { code })))
  assert.deepEqual(of('UK_ADDRESS_REFUSED'), every('false'))
  for (const code of ['ECONNREFUSED', 'ECONNRESET', 'UK_ANSWER_TIMEOUT', 'UK_NO_HTTP'])
    assert.deepEqual(of(code), every(undefined), code)
})

test('each status that a vendor can refuse with is judged; its own word that nothing will help is passed on', () => {
  const error = { error: { message: 'no' } }
  const judged = (status: number, headers: AnswerHeaders = {}) => {
    const words = new Set(told(readFault(status, headers, JSON.stringify(error))))
    assert.equal(words.size, 1)
    return [...words][0]
  }
  // Of the client's errors only slowness and haste pass; 424 is Bedrock's for a model that failed.
  const passes = (status: number) => status < 400 || status >= 500 || [408, 424, 429].includes(status)
  for (let status = 300; status < 600; status++) {
    const lasts = !passes(status) || [501, 505].includes(status)
    assert.equal(judged(status), lasts ? 'false' : undefined, String(status))
    assert.equal(judged(status, { 'x-should-retry': 'false' }), 'false', String(status))
  }
})
