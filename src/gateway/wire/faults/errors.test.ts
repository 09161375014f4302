import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Refusal } from '#core/errors.ts'
import type { UpstreamFault } from '../../model/canonical-request.ts'
import { writeError as writeMessageError } from '../anthropic-messages/write/errors.ts'
import { readFault, retryAfter } from './faults.ts'
import { writeError } from '../openai-chat/write/errors.ts'
import { keepStatus } from '../../surfaces/keep-status.ts'

const kind = (status: number, body: unknown) =>
  readFault(status, {}, typeof body === 'string' ? body : JSON.stringify(body)).kind
const openai = (code: string | null, message = 'no', type = 'invalid_request_error') => ({
  error: { message, type, param: null, code },
})
const anthropic = (type: string, message: string) => ({ type: 'error', error: { type, message } })

test('a provider’s errors are classified by status, code, and message', () => {
  const cases: [number, unknown, UpstreamFault['kind']][] = [
    [400, openai('context_length_exceeded'), 'context_length'],
    [
      400,
      openai(
        null,
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 10000 tokens.",
      ),
      'context_length',
    ],
    [400, anthropic('invalid_request_error', 'prompt is too long: 210000 tokens > 200000 maximum'), 'context_length'],
    [400, anthropic('invalid_request_error', 'Your credit balance is too low to access the API.'), 'upstream_payment'],
    [400, openai('model_not_found'), 'model_not_found'],
    [400, openai(null, 'temperature must be at most 2'), 'bad_request'],
    [401, openai('invalid_api_key'), 'upstream_key'],
    [402, { error: { code: 402, message: 'Insufficient credits' } }, 'upstream_payment'],
    [403, anthropic('permission_error', 'no'), 'upstream_key'],
    [403, { error: { code: 403, message: 'Your input was flagged', metadata: { reasons: ['x'] } } }, 'bad_request'],
    [404, { error: 'model "llama" not found, try pulling it first' }, 'model_not_found'],
    [408, '', 'timeout'],
    [413, anthropic('request_too_large', 'Request exceeds the maximum size'), 'too_large'],
    [422, { detail: 'bad' }, 'bad_request'],
    [429, openai('rate_limit_exceeded', 'slow', 'requests'), 'rate_limited'],
    [429, openai('insufficient_quota', 'You exceeded your current quota', 'insufficient_quota'), 'upstream_payment'],
    [500, '<html>oops</html>', 'server_error'],
    [503, '', 'overloaded'],
    [504, '', 'timeout'],
    [529, anthropic('overloaded_error', 'Overloaded'), 'overloaded'],
    [302, '', 'garbage'],
    // ElevenLabs answers 401 when the plan's characters are spent.
    [401, { detail: { status: 'quota_exceeded', message: 'You have 3 credits left.' } }, 'upstream_payment'],
    [401, { detail: { status: 'invalid_api_key', message: 'Invalid API key' } }, 'upstream_key'],
  ]
  for (const [status, body, expected] of cases)
    assert.equal(kind(status, body), expected, `${status} ${JSON.stringify(body)}`)
})

test('a fault shows the provider’s message, but no key and no proxy page', () => {
  const messageOf = (status: number, body: string) => readFault(status, {}, body).message
  assert.equal(messageOf(400, JSON.stringify(openai(null, 'temperature is odd'))), 'temperature is odd')
  assert.doesNotMatch(
    messageOf(401, JSON.stringify(openai(null, 'Incorrect API key provided: sk-proj-abc***xyz'))),
    /sk-/,
  )
  assert.equal(messageOf(400, JSON.stringify(openai(null, 'key sk-proj-abcdefgh12345 is odd'))), 'key [key] is odd')
  assert.equal(
    messageOf(502, '<html><body>nginx 10.0.0.7</body></html>'),
    'The provider returned status 502 with an HTML page.',
  )
})

test('error envelopes of media vendors are read', () => {
  const messageOf = (status: number, body: object) => readFault(status, {}, JSON.stringify(body)).message
  assert.equal(
    messageOf(400, { err_code: 'Bad Request', err_msg: 'No such model.', request_id: 'x' }),
    'No such model.',
  )
  assert.equal(
    messageOf(400, { detail: { status: 'voice_gone', message: 'The voice is gone.' } }),
    'The voice is gone.',
  )
  assert.equal(
    messageOf(403, { id: 'x', name: 'content_moderation', errors: ['The request was flagged.', 'Change it.'] }),
    'The request was flagged.; Change it.',
  )
  assert.equal(
    messageOf(422, { detail: [{ loc: ['body', 'seed'], msg: 'is not a number', type: 'int_type' }] }),
    'seed: is not a number',
  )
  assert.equal(
    messageOf(422, { title: 'Input validation failed', detail: '- input: prompt is required', status: 422 }),
    '- input: prompt is required',
  )
})

test('retry-after is read in milliseconds, seconds, and as a date', () => {
  const now = Date.parse('2026-11-21T00:00:00Z')
  assert.equal(retryAfter({ 'retry-after-ms': '1500', 'retry-after': '9' }, now), 1.5)
  assert.equal(retryAfter({ 'retry-after': '9' }, now), 9)
  assert.equal(retryAfter({ 'retry-after': 'Sat, 21 Nov 2026 00:00:30 GMT' }, now), 30)
  for (const words of ['', 'soon', '-3']) assert.equal(retryAfter({ 'retry-after': words }, now), null)
})

test('each surface reports the same failure in its own format', () => {
  const rows: [Refusal | UpstreamFault | Error, [number, string, string | null], [number, string], [number, string]][] =
    [
      [
        new Refusal('invalid_api_key'),
        [401, 'invalid_request_error', 'invalid_api_key'],
        [401, 'authentication_error'],
        [401, 'authentication'],
      ],
      [
        new Refusal('spend_cap_reached'),
        [402, 'billing_error', 'spend_cap_reached'],
        [402, 'billing_error'],
        [402, 'payment_required'],
      ],
      [
        new Refusal('rate_limited'),
        [429, 'requests', 'rate_limit_exceeded'],
        [429, 'rate_limit_error'],
        [429, 'rate_limit_exceeded'],
      ],
      [
        new Refusal('not_found', { param: 'model' }),
        [404, 'invalid_request_error', 'model_not_found'],
        [404, 'not_found_error'],
        [400, 'invalid_request'],
      ],
      [
        new Refusal('no_route'),
        [404, 'invalid_request_error', 'model_not_found'],
        [404, 'not_found_error'],
        [404, 'not_found'],
      ],
      [
        new Refusal('payload_too_large'),
        [413, 'invalid_request_error', 'request_too_large'],
        [413, 'request_too_large'],
        [413, 'payload_too_large'],
      ],
      [
        { kind: 'upstream_key', message: 'x' },
        [502, 'server_error', 'provider_error'],
        [502, 'api_error'],
        [502, 'provider_unavailable'],
      ],
      [
        { kind: 'overloaded', message: 'x' },
        [503, 'server_error', 'overloaded'],
        [529, 'overloaded_error'],
        [503, 'provider_overloaded'],
      ],
      [
        new Refusal('invalid_parameter', { param: 'n' }),
        [400, 'invalid_request_error', 'invalid_parameter'],
        [400, 'invalid_request_error'],
        [400, 'invalid_request'],
      ],
      [
        { kind: 'bad_request', message: 'x', code: 'unsupported_value' },
        [400, 'invalid_request_error', 'unsupported_value'],
        [400, 'invalid_request_error'],
        [400, 'invalid_request'],
      ],
      [
        { kind: 'context_length', message: 'x' },
        [400, 'invalid_request_error', 'context_length_exceeded'],
        [400, 'invalid_request_error'],
        [400, 'context_length_exceeded'],
      ],
      [
        new Refusal('missing_scope'),
        [403, 'permission_error', 'missing_scope'],
        [403, 'permission_error'],
        [403, 'permission_denied'],
      ],
      [
        new Refusal('not_found'),
        [404, 'invalid_request_error', 'not_found'],
        [404, 'not_found_error'],
        [404, 'not_found'],
      ],
      [
        new Refusal('invalid_state'),
        [409, 'conflict', 'invalid_state'],
        [409, 'conflict_error'],
        [409, 'invalid_request'],
      ],
      [
        { kind: 'rate_limited', message: 'x', retry_after_seconds: 3 },
        [429, 'requests', 'rate_limit_exceeded'],
        [429, 'rate_limit_error'],
        [429, 'rate_limit_exceeded'],
      ],
      ...(['server_error', 'unreachable', 'garbage', 'upstream_payment'] as const).map(
        (kind): [UpstreamFault, [number, string, string], [number, string], [number, string]] => [
          { kind, message: 'x' },
          [502, 'server_error', 'provider_error'],
          [502, 'api_error'],
          [502, 'provider_unavailable'],
        ],
      ),
      [{ kind: 'timeout', message: 'x' }, [504, 'server_error', 'timeout'], [504, 'timeout_error'], [504, 'timeout']],
      // The database is unreachable: temporary, so clients are told to retry.
      [
        new Error('Connection terminated unexpectedly'),
        [503, 'server_error', 'overloaded'],
        [529, 'overloaded_error'],
        [503, 'provider_overloaded'],
      ],
      [new Error('a secret of ours'), [500, 'server_error', 'internal_error'], [500, 'api_error'], [500, 'server']],
    ]
  for (const [failure, a, b, c] of rows) {
    const inA = writeError(failure, 'compat-a')
    const { error } = inA.body as { error: Record<string, unknown> }
    assert.deepEqual([inA.status, error['type'], error['code']], a)
    const inB = writeMessageError(failure, 'req_1')
    assert.deepEqual([inB.status, (inB.body as { error: { type: string } }).error.type], b)
    const inC = writeError(failure, 'compat-c')
    const errorC = (inC.body as { error: { code: number; metadata: { error_type: string } } }).error
    assert.deepEqual([inC.status, errorC.metadata.error_type], c)
    assert.equal(errorC.code, inC.status)
    assert.doesNotMatch(JSON.stringify([inA.body, inB.body, inC.body]), /a secret of ours/)
  }
})

test('errors have our type on compat-b, and on compat-c whether they are temporary', () => {
  const inB = writeMessageError(new Refusal('budget_reached'), 'req_1').body
  assert.deepEqual(inB, {
    type: 'error',
    error: {
      type: 'billing_error',
      message: 'The budget doesn’t cover this request.',
      details: { error_code: 'budget_reached' },
    },
    request_id: 'req_1',
  })
  const availability = (failure: unknown) =>
    (writeError(failure, 'compat-c').body as { error: { availability?: object } }).error.availability
  assert.deepEqual(availability({ kind: 'rate_limited', message: 'x', retry_after_seconds: 3 }), {
    code: 'capacity_exhausted',
    retryable: true,
    retry_after: 3,
  })
  const details = { models: ['a/b'], excluded: [{ provider: 'p', code: 'price' }] }
  assert.deepEqual(availability(new Refusal('no_route', { details })), {
    code: 'constraint_filtered',
    retryable: false,
    requested_models: ['a/b'],
    excluded_by: details.excluded,
  })
  assert.equal(availability({ kind: 'timeout', message: 'x' }), undefined)
})

test('statuses with a meaning in HTTP itself are the same on every surface', () => {
  for (const [code, status] of [
    ['unavailable', 503],
    ['method_not_allowed', 405],
    ['unsupported_media_type', 415],
  ] as const) {
    const refusal = new Refusal(code)
    for (const answer of [
      writeError(refusal, 'compat-a'),
      writeMessageError(refusal, null),
      writeError(refusal, 'compat-c'),
    ])
      assert.equal(keepStatus(answer, refusal).status, status)
  }
  const nobody = new Refusal('no_route')
  assert.equal(keepStatus(writeMessageError(nobody, null), nobody).status, 404, 'a word of vendors, not of HTTP')
  const busy: UpstreamFault = { kind: 'overloaded', message: 'x' }
  assert.equal(keepStatus(writeMessageError(busy, null), busy).status, 529)
})

test('permanent errors say not to retry, and temporary ones when to retry', () => {
  assert.equal(writeError(new Refusal('insufficient_credits'), 'compat-a').headers['x-should-retry'], 'false')
  assert.equal(
    writeError({ kind: 'rate_limited', message: 'x', retry_after_seconds: 1.2 }, 'compat-a').headers['retry-after'],
    '2',
  )
})

test('text that a provider quotes from a request says nothing about its key or its account', () => {
  const kind = (message: string): string => readFault(400, {}, JSON.stringify({ error: { message } })).kind
  assert.equal(kind("Unknown parameter: 'billing'."), 'bad_request')
  assert.equal(kind('Invalid value "API key not valid" for `insufficient_quota`'), 'bad_request')
  assert.equal(kind('API key not valid. Please pass a valid API key.'), 'upstream_key')
  assert.equal(kind("Your credit balance is too low, you can't go on and don't try"), 'upstream_payment')
})
