import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endpointAt } from '#test/media/wire.ts'
import { takesKey } from './takes-key.ts'

test('a key is sent to its own origin, and to hosts of its vendor’s domain if the vendor polls there', () => {
  const bfl = endpointAt('https://api.bfl.ai/v1', 'black-forest-labs')
  const cases: [boolean, string][] = [
    [true, 'https://api.bfl.ai/v1/get_result?id=1'],
    [true, 'https://api.us1.bfl.ai/v1/get_result?id=1'],
    [false, 'http://api.us1.bfl.ai/v1/get_result'],
    [false, 'https://api.us1.bfl.ai:8443/v1/get_result'],
    [false, 'https://evilbfl.ai/'],
    [false, 'https://api.bfl.ai.evil.example/'],
    [false, 'https://user:word@api.us1.bfl.ai/'],
    [false, 'https://delivery.example/sample.png'],
  ]
  for (const [expected, url] of cases) assert.equal(takesKey(bfl, new URL(url)), expected, url)
  const own = endpointAt('https://proxy.example/v1', 'black-forest-labs')
  assert.equal(takesKey(own, new URL('https://api.us1.bfl.ai/v1/get_result')), false)
  const other = endpointAt('https://api.elevenlabs.io/v1', 'elevenlabs')
  assert.equal(takesKey(other, new URL('https://cdn.elevenlabs.io/x')), false)
})
