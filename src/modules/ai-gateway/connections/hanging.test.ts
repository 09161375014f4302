// Slow: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { at } from '#test/endpoints/house.ts'
import { testServer } from '#test/server.ts'
import { until } from '#test/until.ts'

test('a provider that never responds to its test causes no delay, and is failing after the test', async () => {
  await using server = await testServer({ environment: { UK_UPSTREAM_ALLOW: '127.0.0.1' } })
  const bob = await server.person('Bob')
  let requestCount = 0
  const tarpit = createServer((request) => void (request.resume(), requestCount++)).listen(0, '127.0.0.1')
  await once(tarpit, 'listening')
  using _ = { [Symbol.dispose]: () => (tarpit.closeAllConnections(), void tarpit.close()) }
  const base_url = `http://127.0.0.1:${(tarpit.address() as AddressInfo).port}/v1`
  const response = await bob.post(at, {
    name: 'Slow',
    slug: 'slow',
    shape: 'openai-chat',
    base_url,
    models: [{ id: 'x' }],
  })
  assert.deepEqual([response.status, response.body.data?.status, requestCount], [201, 'untested', 1], response.text)
  const late = await until(
    async () => (await bob.get(`${at}/${response.body.data.id}`)).body.data,
    ({ status }) => status === 'failing',
  )
  assert.deepEqual(
    [late.status_reason, late.last_error],
    ['It took too long to respond.', 'The provider didn’t respond within 10 s.'],
  )
})
