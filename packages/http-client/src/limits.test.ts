import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endlessKinds, pathOf, startEndless } from '#test/vendors/endless.ts'
import { until } from '#test/until.ts'
import { addressPolicy } from './address.ts'
import { createOutbound } from './outbound.ts'

const ends: Record<string, 'UK_ANSWER_TIMEOUT' | 'UK_ANSWER_TOO_LARGE' | 'UK_NO_HTTP'> = {
  'says nothing': 'UK_ANSWER_TIMEOUT',
  'a head byte by byte': 'UK_ANSWER_TIMEOUT',
  'fields without end': 'UK_NO_HTTP',
  'one field without end': 'UK_NO_HTTP',
  'hints for ever': 'UK_NO_HTTP',
  'many hints at once': 'UK_NO_HTTP',
  'a body byte by byte': 'UK_ANSWER_TIMEOUT',
  'a body of a length byte by byte': 'UK_ANSWER_TIMEOUT',
  'a body to the end byte by byte': 'UK_ANSWER_TIMEOUT',
  'a body without end': 'UK_ANSWER_TOO_LARGE',
  'a chunk line byte by byte': 'UK_ANSWER_TIMEOUT',
  'a chunk line without end': 'UK_NO_HTTP',
  'extensions without end': 'UK_ANSWER_TOO_LARGE',
  'trailers bit by bit': 'UK_ANSWER_TIMEOUT',
  'trailers without end': 'UK_NO_HTTP',
  'an error byte by byte': 'UK_ANSWER_TIMEOUT',
  'an error without end': 'UK_ANSWER_TOO_LARGE',
  'a stream that is only kept alive': 'UK_ANSWER_TIMEOUT',
  'one event without end': 'UK_ANSWER_TOO_LARGE',
  'events without end': 'UK_ANSWER_TOO_LARGE',
}

test('no response holds a connection forever, however it fails to end', async () => {
  await using server = await startEndless()
  // Short limits for responses that time out, generous ones for those that end, so they don't affect each other.
  const policy = addressPolicy(['127.0.0.0/8'])
  const times = { headMs: 1_000, idleMs: 1_000, wholeMs: 1_500, streamMs: 2_000, errorMs: 400 }
  await using short = createOutbound(policy, times)
  await using small = createOutbound(policy, { mostBytes: 4 << 20 })
  const outcomes = await Promise.all(
    endlessKinds.map(
      (kind) =>
        new Promise<[string, string]>((resolve) =>
          (ends[kind] === 'UK_ANSWER_TIMEOUT' ? short : small).dispatch(
            {
              origin: server.origin,
              path: `${pathOf(kind)}/`,
              method: 'GET',
              headers: [],
              body: null,
              credential: '',
              party: kind,
            },
            {
              onRequestStart() {},
              onResponseEnd: () => resolve([kind, 'whole']),
              onResponseError: (_, error) => resolve([kind, (error as NodeJS.ErrnoException).code!]),
            },
          ),
        ),
    ),
  )
  assert.deepEqual(Object.fromEntries(outcomes), ends)
  await until(
    () => Promise.resolve(server.open()),
    (open) => open === 0,
  )
})
