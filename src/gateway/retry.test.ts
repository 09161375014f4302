import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ProviderEndpoint } from './directory.ts'
import { scrub } from './retry.ts'
import { readFault } from './shapes/faults.ts'

test('a vendor that repeats the key of its endpoint tells it to nobody, wherever it stands in the refusal', () => {
  const secret = 'a-key-of-the-instance'
  const endpoint = {
    slug: 'an',
    apiKey: secret,
    headers: { 'x-org': 'org-of-the-instance' },
  } as unknown as ProviderEndpoint
  const error = {
    type: 'invalid_request_error',
    message: `no ${secret}`,
    code: `of_${secret}`,
    param: secret,
    details: {
      error_code: 'thread_not_found',
      seen: [{ key: secret, org: 'org-of-the-instance' }],
      header: `Bearer ${secret}`,
    },
  }
  const fault = readFault(404, {}, JSON.stringify({ type: 'error', error }))
  assert.match(JSON.stringify(fault), /of-the-instance/, 'it is read as it came')
  const told = scrub(fault, endpoint)
  assert.doesNotMatch(JSON.stringify(told), /of-the-instance/)
  assert.equal(told.details?.['error_code'], 'thread_not_found')
})
