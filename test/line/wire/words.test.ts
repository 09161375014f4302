import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testServer } from '../../server.ts'

test('what is wrong with a value is said in plain words, and what would be right', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const said = async (method: string, path: string, body?: object) => {
    const answer = await alice.request(method, path, body)
    assert.equal(answer.status, 400, answer.text)
    assert.equal(answer.body.error.code, 'invalid_parameter', answer.text)
    return answer.body.error.message
  }
  const endpoint = (more: object) => said('POST', '/ai-gateway/provider-endpoints', { preset: 'openai', ...more })
  const key = (more: object) => said('POST', '/api-keys', { name: 'Laptop', scopes: ['*'], ...more })
  const usage = (query: string) => said('GET', `/ai-gateway/usage?${query}`)
  const model = (more: object) => endpoint({ models: [{ id: 'gpt-4o', ...more }] })

  assert.equal(await key({ name: '' }), '`name` must have at least 1 character.')
  assert.equal(await key({ name: 'x'.repeat(121) }), '`name` must have at most 120 characters.')
  assert.equal(await key({ spend_cap_usd: -1 }), '`spend_cap_usd` must be at least 0.')
  assert.equal(await key({ spend_cap_usd: '5' }), '`spend_cap_usd` must be a number, not a string.')
  assert.equal(await key({ expires_at: 'soon' }), '`expires_at` must be a time such as 2026-11-22T09:30:00Z.')
  assert.equal(await endpoint({ models: ['gpt-4o'] }), '`models.0` must be an object, not a string.')
  assert.equal(await endpoint({ models: {} }), '`models` must be a list, not an object.')
  assert.equal(await endpoint({ enabled: 'yes' }), '`enabled` must be true or false, not a string.')
  assert.equal(await endpoint({ priority: 1.5 }), '`priority` must be a whole number.')
  assert.equal(await endpoint({ priority: 65_536 }), '`priority` must be at most 65535.')
  assert.equal(await endpoint({ name: null }), '`name` must be a string, not null.')
  assert.equal(
    await model({ quantization: 'fp7' }),
    '`models.0.quantization` must be one of int4, int8, fp4, mxfp4, nvfp4, fp6, fp8, mxfp8, fp16, bf16, fp32.',
  )
  assert.equal(
    await model({ capabilities: Array(41).fill('tools') }),
    '`models.0.capabilities` must have at most 40 items.',
  )
  assert.equal(await usage('from=yesterday'), '`from` must be a date such as 2026-11-22.')
  assert.equal(await usage('limit=many'), '`limit` must be a number.')
  assert.equal(await usage('instance=maybe'), '`instance` must be true or false.')

  // Of several forms: the one that it comes closest to, else all of them.
  const ask = (content: unknown) =>
    said('POST', '/inference/text', { model: 'sim/echo', messages: [{ role: 'user', content }] })
  assert.equal(await ask(5), '`messages.0.content` must be a string or a list, not a number.')
  assert.match(await ask([{ type: 'film' }]), /^`messages\.0\.content\.0\.type` must be one of text, /)

  // The contracts' own words stay as they are.
  assert.equal(await endpoint({ slug: 'sim' }), '`slug`: `sim`, `local` and `auto` are reserved.')
  assert.match(await endpoint({ slug: 'A b' }), /^`slug` must be 1 to 32 of a-z/)
  assert.equal(await endpoint({ headers: { 'a b': 'c' } }), '`headers.a b` must be the name of an HTTP header.')
})
