import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import type { AttemptListener } from '../model/in-progress.ts'
import { TranslatedResponse } from './translated-response.ts'
import type { Chunk, CanonicalRequest, UpstreamFault } from '../model/canonical-request.ts'

// Writing an answer reads nothing else of a request.
const canonical = { model: 'm', messages: [] } as unknown as CanonicalRequest
const text = (words: string): Chunk => ({ type: 'text', text: words })

function attempt(): AttemptListener & { faults: UpstreamFault[] } {
  const faults: UpstreamFault[] = []
  return { faults, begin() {}, ended() {}, failed: (fault) => void faults.push(fault) }
}

test('a client that doesn’t read for five minutes is disconnected', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const firstWrite = Promise.withResolvers<void>()
  const response = Object.assign(new EventEmitter(), {
    write() {
      firstWrite.resolve()
      return false
    },
    end() {},
    destroy() {
      translatedResponse.leave()
      response.emit('close')
    },
  })
  const stream = { write: () => 'x', end: () => '', fail: () => '' }
  const translatedResponse: TranslatedResponse = new TranslatedResponse(
    attempt(),
    // Implements what is used of a response, for both kinds of `Reply`.
    response as unknown as ServerResponse,
    { stream },
    canonical,
    false,
  )
  async function* chunks(): AsyncGenerator<Chunk> {
    yield text('one')
    yield { type: 'finish', reason: 'stop', native: null }
  }
  const run = translatedResponse.run(chunks())
  await firstWrite.promise
  t.mock.timers.tick(299_999)
  assert.equal(response.listenerCount('close'), 1, 'it is waited for')
  t.mock.timers.tick(1)
  await run
  assert.equal(response.listenerCount('close'), 0)
})

test('an endless answer is aborted before it fills the memory', async () => {
  const piece = 'x'.repeat(1 << 20)
  let pieces = 0
  async function* chunks(): AsyncGenerator<Chunk> {
    for (; pieces < 200; pieces++) yield text(piece)
  }
  const outcome = attempt()
  // Nothing is written to it.
  const response = new EventEmitter() as unknown as ServerResponse
  await new TranslatedResponse(outcome, response, { whole: () => ({}) }, canonical, false).run(chunks())
  assert.ok(pieces < 40, `${pieces} MiB were taken`)
  assert.deepEqual(
    outcome.faults.map(({ kind, message }) => [kind, message]),
    [['garbage', 'The provider’s response is too long.']],
  )
})

test('endless calls, citations, and reasoning are aborted like text; ten thousand calls are not', async () => {
  const kinds: Record<string, (n: number) => Chunk> = {
    'calls without words': (n) => ({ type: 'tool_call_start', id: `call_${n}`, name: 'f' }),
    'calls of long names': (n) => ({ type: 'tool_call_start', id: `call_${n}`, name: 'f'.repeat(10_000) }),
    'sealed thoughts': () => ({ type: 'reasoning_end', signature: 'x'.repeat(10_000) }),
    citations: () => ({ type: 'citation', citation: { url: 'https://example.com' } }) as Chunk,
  }
  const play = async (chunkOf: (n: number) => Chunk, most: number) => {
    let takenCount = 0
    async function* chunks(): AsyncGenerator<Chunk> {
      for (; takenCount < most; takenCount++) yield chunkOf(takenCount)
      yield { type: 'finish', reason: 'stop', native: null }
    }
    const outcome = attempt()
    const response = Object.assign(new EventEmitter(), { end() {} }) as unknown as ServerResponse
    await new TranslatedResponse(outcome, response, { whole: () => ({}) }, canonical, false).run(chunks())
    return { taken: takenCount, faults: outcome.faults.length, message: outcome.faults[0]?.message }
  }
  for (const [kind, chunkOf] of Object.entries(kinds)) {
    const { taken: takenCount, faults } = await play(chunkOf, 1_000_000)
    assert.ok(takenCount < 200_000 && faults === 1, `${kind}: ${takenCount}`)
  }
  const calls = kinds['calls without words']!
  assert.deepEqual(await play(calls, 10_000), { taken: 10_000, faults: 0, message: undefined })
  const message = 'The provider returned more than 10000 tool calls.'
  assert.deepEqual(await play(calls, 10_001), { taken: 10_000, faults: 1, message })
})
