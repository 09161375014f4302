import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testServer } from '../../server.ts'

test('errors say in plain words what is wrong with a value and what is allowed', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const messageOf = async (method: string, path: string, body?: object) => {
    const answer = await alice.request(method, path, body)
    assert.equal(answer.status, 400, answer.text)
    assert.equal(answer.body.error.code, 'invalid_parameter', answer.text)
    return answer.body.error.message
  }
  const endpoint = (more: object) => messageOf('POST', '/ai-gateway/provider-endpoints', { preset: 'openai', ...more })
  const key = (more: object) => messageOf('POST', '/api-keys', { name: 'Laptop', scopes: ['*'], ...more })
  const usage = (query: string) => messageOf('GET', `/ai-gateway/usage?${query}`)
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

  const ask = (content: unknown) =>
    messageOf('POST', '/inference/text', { model: 'sim/echo', messages: [{ role: 'user', content }] })
  assert.equal(await ask(5), '`messages.0.content` must be a string or a list, not a number.')
  assert.match(await ask([{ type: 'film' }]), /^`messages\.0\.content\.0\.type` must be one of text, /)

  // Custom contract messages are kept.
  assert.equal(await endpoint({ slug: 'sim' }), '`slug`: `sim`, `local` and `auto` are reserved.')
  assert.match(await endpoint({ slug: 'A b' }), /^`slug` must be 1 to 32 characters of a-z/)
  assert.equal(await endpoint({ headers: { 'a b': 'c' } }), '`headers.a b` must be the name of an HTTP header.')
})

test('a misspelled field gets a suggestion, at any depth', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const messageOf = async (method: string, path: string, body?: object) => {
    const { error } = (await alice.request(method, path, body)).body
    assert.equal(error.code, 'unknown_parameter')
    return [error.param, error.message]
  }
  const unknownField = (name: string, near: string | null) => [
    name,
    `\`${name}\` is not a parameter of this endpoint.${near === null ? '' : ` Did you mean \`${near}\`?`}`,
  ]
  assert.deepEqual(await messageOf('POST', '/chats', { titel: 'Views' }), unknownField('titel', 'title'))
  assert.deepEqual(await messageOf('POST', '/chats', { colour: 'red' }), unknownField('colour', null))
  assert.deepEqual(await messageOf('GET', '/chats?limt=3'), unknownField('limt', 'limit'))
  const models = [{ id: 'x', pricing: { input: 1, ouput: 2 } }]
  assert.deepEqual(
    await messageOf('POST', '/ai-gateway/provider-endpoints', { preset: 'openai', models }),
    unknownField('models.0.pricing.ouput', 'models.0.pricing.output'),
  )
  assert.deepEqual(
    await messageOf('POST', '/inference/text', { model: 'sim/echo', messages: [{ role: 'user', contents: 'x' }] }),
    unknownField('messages.0.contents', 'messages.0.content'),
  )
  const long = 'x'.repeat(100_000)
  assert.deepEqual(await messageOf('POST', '/chats', { [long]: 1 }), unknownField(long, null))
})

test('missing resources are named by kind and ID, identically for strangers and made-up IDs', async () => {
  await using server = await testServer()
  const [alice, mallory] = [await server.person('Alice'), await server.person('Mallory')]
  const messageOf = async (who: typeof alice, path: string) => {
    const { status, body } = await who.get(path)
    assert.equal(status, 404)
    return body.error.message
  }
  const { id } = (await alice.post('/agents', { name: 'Clerk' })).body.data
  const notFoundMessage = (thing: string) => `The ${thing} doesn’t exist, or you don’t have access to it.`
  assert.equal(await messageOf(mallory, `/agents/${id}`), notFoundMessage(`agent \`${id}\``))
  assert.equal(await messageOf(alice, '/agents/nope'), notFoundMessage('agent `nope`'))
  const chat = (await alice.post('/chats', {})).body.data
  assert.equal(await messageOf(alice, `/chats/${chat.id}/runs/nope`), notFoundMessage('run `nope`'))
  assert.equal(
    await messageOf(alice, '/ai-gateway/provider-endpoints/nope'),
    notFoundMessage('provider endpoint `nope`'),
  )
  const key = await alice.key()
  assert.equal(
    await messageOf(alice, `/agents/${key.key}`),
    notFoundMessage('agent'),
    'what may be a key is not repeated',
  )
  assert.equal(
    await messageOf(alice, '/models/sim%2Fecko'),
    `${notFoundMessage('model `sim/ecko`')} Did you mean \`sim/echo\`?`,
  )
  const chats = await alice.post('/chats', { agent_id: '01KAJ8R3T2M6QK5W9V0XBZC4DE' })
  assert.match(chats.body.error.message, /^The agent `[0-9A-Z]{26}` doesn’t exist/)
})
