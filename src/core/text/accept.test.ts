import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accepts, qualityOf } from './accept.ts'

const JSON_TYPE = 'application/json'
const EVENTS = 'text/event-stream'

test('a media type is accepted by its name, by a wildcard, and without a header', () => {
  for (const [header, json, events] of [
    [undefined, true, true],
    ['', true, true],
    ['*/*', true, true],
    ['*', true, true],
    ['application/*, text/*', true, true],
    ['APPLICATION/JSON, Text/Event-Stream', true, true],
    ['application/json;charset=utf-8,text/event-stream', true, true],
    ['application/json', true, false],
    ['text/*', false, true],
    ['text/html, */*;q=0.1', true, true],
    ['*/*;q=0', false, false],
    ['*/*, text/event-stream;q=0', true, false],
    ['text/*;q=0, text/event-stream', false, true],
    ['application/json ; Q = 0.000, */*', false, true],
    ['text/plain;x="a,application/json"', false, false],
    ['image/png', false, false],
    ['application/jsonp, text/event-streams', false, false],
    [', ,application/json,', true, false],
    ['*/*;q=nonsense', true, true],
  ] as const)
    assert.deepEqual([accepts(header, JSON_TYPE), accepts(header, EVENTS)], [json, events], String(header))
})

test('the most specific range decides the preference for a type', () => {
  const header = 'text/*;q=0.3, text/html;q=0.7, */*;q=0.5'
  assert.deepEqual(
    ['text/html', 'text/plain', 'image/jpeg'].map((type) => qualityOf(header, type)),
    [0.7, 0.3, 0.5],
  )
})

test('long headers are read in one pass', () => {
  assert.equal(accepts('a/b;q="'.repeat(5_000), JSON_TYPE), false)
  assert.equal(accepts(`${','.repeat(50_000)}*/*`, JSON_TYPE), true)
})
