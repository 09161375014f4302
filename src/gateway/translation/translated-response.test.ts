import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import type { AttemptListener } from '../model/in-progress.ts'
import { TranslatedResponse } from './translated-response.ts'
import type { Chunk, CanonicalRequest, UpstreamFault } from '../model/canonical-request.ts'

// Nothing else of a request is looked at while its answer is written.
const canonical = { model: 'm', messages: [] } as unknown as CanonicalRequest
const text = (words: string): Chunk => ({ type: 'text', text: words })

function attempt(): AttemptListener & { faults: UpstreamFault[] } {
  const faults: UpstreamFault[] = []
  return { faults, begin() {}, ended() {}, failed: (fault) => void faults.push(fault) }
}

test('a client that does not read for five minutes has left', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const written = Promise.withResolvers<void>()
  const response = Object.assign(new EventEmitter(), {
    write() {
      written.resolve()
      return false
    },
    end() {},
    destroy() {
      translated.leave()
      response.emit('close')
    },
  })
  const stream = { write: () => 'x', end: () => '', fail: () => '' }
  const translated: TranslatedResponse = new TranslatedResponse(
    attempt(),
    // What is called of a response is here; it stands for both kinds of `Reply`.
    response as unknown as ServerResponse,
    { stream },
    canonical,
    false,
  )
  async function* chunks(): AsyncGenerator<Chunk> {
    yield text('one')
    yield { type: 'finish', reason: 'stop', native: null }
  }
  const run = translated.run(chunks())
  await written.promise
  t.mock.timers.tick(299_999)
  assert.equal(response.listenerCount('close'), 1, 'it is waited for')
  t.mock.timers.tick(1)
  await run
  assert.equal(response.listenerCount('close'), 0)
})

test('an answer that does not end is given up before it fills the memory', async () => {
  const piece = 'x'.repeat(1 << 20)
  let pieces = 0
  async function* chunks(): AsyncGenerator<Chunk> {
    for (; pieces < 200; pieces++) yield text(piece)
  }
  const told = attempt()
  // Nothing is written to it.
  const response = new EventEmitter() as unknown as ServerResponse
  await new TranslatedResponse(told, response, { whole: () => ({}) }, canonical, false).run(chunks())
  assert.ok(pieces < 40, `${pieces} MiB were taken`)
  assert.deepEqual(
    told.faults.map(({ kind, message }) => [kind, message]),
    [['garbage', 'The provider’s response is too long.']],
  )
})

test('calls, citations and thoughts without end are given up as words are; ten thousand calls are not', async () => {
  const kinds: Record<string, (n: number) => Chunk> = {
    'calls without words': (n) => ({ type: 'tool_call_start', id: `call_${n}`, name: 'f' }),
    'calls of long names': (n) => ({ type: 'tool_call_start', id: `call_${n}`, name: 'f'.repeat(10_000) }),
    'sealed thoughts': () => ({ type: 'reasoning_end', signature: 'x'.repeat(10_000) }),
    citations: () => ({ type: 'citation', citation: { url: 'https://example.com' } }) as Chunk,
  }
  const play = async (chunkOf: (n: number) => Chunk, most: number) => {
    let taken = 0
    async function* chunks(): AsyncGenerator<Chunk> {
      for (; taken < most; taken++) yield chunkOf(taken)
      yield { type: 'finish', reason: 'stop', native: null }
    }
    const told = attempt()
    const response = Object.assign(new EventEmitter(), { end() {} }) as unknown as ServerResponse
    await new TranslatedResponse(told, response, { whole: () => ({}) }, canonical, false).run(chunks())
    return { taken, faults: told.faults.length, message: told.faults[0]?.message }
  }
  for (const [kind, chunkOf] of Object.entries(kinds)) {
    const { taken, faults } = await play(chunkOf, 1_000_000)
    assert.ok(taken < 200_000 && faults === 1, `${kind}: ${taken}`)
  }
  const calls = kinds['calls without words']!
  assert.deepEqual(await play(calls, 10_000), { taken: 10_000, faults: 0, message: undefined })
  const message = 'The provider’s response contains more than 10000 tool calls.'
  assert.deepEqual(await play(calls, 10_001), { taken: 10_000, faults: 1, message })
})
