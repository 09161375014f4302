import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Event } from '#core/answers.ts'
import { Refusal } from '#core/errors.ts'
import { collect } from './collect.ts'

const never = new AbortController().signal
const delta = (text: string, more: object = {}): Event => ({
  event: 'text.delta',
  data: { index: 0, delta: text, at: text, ...more },
})

async function* from(events: Event[], then?: Promise<unknown>): AsyncGenerator<Event> {
  yield* events
  await then
}

test('consecutive deltas of one text are joined; other texts, kinds and events separate them', async () => {
  const events = [
    delta('a'),
    delta('b'),
    delta('c', { index: 1 }),
    { event: 'reasoning.delta', data: { index: 1, delta: 'd' } },
    { event: 'tick', data: 1 },
    delta('e', { index: 1 }),
  ]
  const { events: kept, complete } = await collect(from(events), never)
  const texts = kept.map(({ data }) => (data as { delta?: string }).delta)
  assert.deepEqual([texts, complete], [['ab', 'c', 'd', undefined, 'e'], true])
})

test('collecting stops at the byte limit and returns the event to resume after', async () => {
  const events = Array.from({ length: 100 }, (_, i) => ({ id: String(i), event: 'tick', data: 'x'.repeat(100) }))
  const collected = await collect(from(events), never, () => {}, { bytes: 1_000 })
  assert.equal(collected.complete, false)
  assert.equal(collected.last_event_id, String(collected.events.length - 1))
  assert.ok(collected.events.length < 12, `${collected.events.length} events`)
})

test('collecting stops at the time limit without events', async () => {
  const silent = new Promise(() => {})
  const collected = await collect(from([delta('a')], silent), never, () => {}, { seconds: 0.01 })
  assert.deepEqual([collected.events.length, collected.complete], [1, false])
})

test('collecting throws the error that ended the stream, and ends quietly with its caller', async () => {
  const silent = new Promise(() => {})
  const refused = new AbortController()
  const left = new AbortController()
  const ends = [collect(from([], silent), refused.signal), collect(from([delta('a')], silent), left.signal)] as const
  refused.abort(new Refusal('revoked_api_key'))
  left.abort()
  await assert.rejects(ends[0], { code: 'revoked_api_key' })
  assert.equal((await ends[1]).complete, false)
})

test('a stream failure is thrown', async () => {
  async function* broken(): AsyncGenerator<Event> {
    yield delta('a')
    throw new Error('broken')
  }
  await assert.rejects(collect(broken(), never), /broken/)
})
