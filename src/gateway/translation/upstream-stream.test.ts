import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressPolicy } from '#packages/http-client/address.ts'
import { createOutbound } from '#packages/http-client/outbound.ts'
import { startRaw } from '#test/vendors/raw.ts'
import { PATIENCE_MS } from '#test/until.ts'
import type { Chunk } from '../model/canonical-request.ts'
import type { Offer } from '../model/offer.ts'
import { prepare } from './upstream-stream.ts'

test('an error while an answer is read reaches its reader, with the chunks before it and no other fault', async () => {
  const events = ['Hel', 'lo'].map((content) => ({ choices: [{ index: 0, delta: { content } }] }))
  const body = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
  await using vendor = await startRaw((_, socket) => {
    socket.write(`HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n${body}`)
  })
  await using outbound = createOutbound(addressPolicy([]))
  // The fields of an offer that a translation reads.
  const offer = {
    endpoint: {
      id: 'x',
      slug: 'x',
      shape: 'openai-chat',
      preset: null,
      baseUrl: vendor.origin,
      apiKey: 'a-key',
      headers: {},
      mayBePrivate: true,
    },
    slug: 'x/m',
    upstreamModel: 'm',
    capabilities: [],
    maxOutputTokens: null,
  } as unknown as Offer
  const canonical = {
    model: 'm',
    messages: [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'hi' }] }],
  }
  const failsOnSecondText = {
    push(chunk: Chunk, next: (chunk: Chunk) => void): void {
      if (chunk.type === 'text' && chunk.text === 'lo') throw new Error('a bug')
      next(chunk)
    },
  }
  const types: string[] = []
  const chunks = prepare(offer, canonical).chunks(outbound, 'x', AbortSignal.timeout(PATIENCE_MS), [failsOnSecondText])
  await assert.rejects(async () => {
    for await (const chunk of chunks) types.push(chunk.type)
  }, /a bug/)
  assert.deepEqual(types, ['start', 'text'])
})
