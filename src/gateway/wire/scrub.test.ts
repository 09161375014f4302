import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressPolicy } from '#packages/http-client/address.ts'
import { createOutbound } from '#packages/http-client/outbound.ts'
import { startRaw } from '#test/vendors/raw.ts'
import { PATIENCE_MS } from '#test/until.ts'
import type { Offer, ProviderEndpoint } from '../model/offer.ts'
import { prepare } from '../translation/upstream-stream.ts'
import { scrub } from './scrub.ts'
import { readFault } from './faults/faults.ts'

test('a vendor that repeats its endpoint’s key reveals it to no caller, wherever it appears in the error', () => {
  const secret = 'a-key-of-the-instance'
  // Contains only possible secrets.
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
  const clean = scrub(fault, endpoint)
  assert.doesNotMatch(JSON.stringify(clean), /of-the-instance/)
  assert.equal(clean.details?.['error_code'], 'thread_not_found')
})

test('secrets are also removed from a translated stream in progress', async () => {
  const events = [
    { choices: [{ index: 0, delta: { content: 'Hel' } }] },
    { error: { message: 'no a-key-of-the-instance' } },
  ]
  const body = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
  await using vendor = await startRaw((_, socket) => {
    socket.end(`HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n${body}`)
  })
  await using outbound = createOutbound(addressPolicy([]))
  const endpoint = {
    id: 'x',
    slug: 'x',
    shape: 'openai-chat',
    preset: null,
    baseUrl: vendor.origin,
    apiKey: 'a-key-of-the-instance',
    headers: {},
    mayBePrivate: true,
  }
  // The fields of an offer that a translation reads.
  const offer = {
    endpoint,
    slug: 'x/m',
    upstreamModel: 'm',
    capabilities: [],
    maxOutputTokens: null,
  } as unknown as Offer
  const canonical = {
    model: 'm',
    messages: [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'hi' }] }],
  }
  const chunks = []
  for await (const chunk of prepare(offer, canonical).chunks(outbound, 'x', AbortSignal.timeout(PATIENCE_MS), []))
    chunks.push(chunk)
  assert.match(JSON.stringify(chunks), /Hel.*no \[key\]/)
  assert.doesNotMatch(JSON.stringify(chunks), /of-the-instance/)
})
