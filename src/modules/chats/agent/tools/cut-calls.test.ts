import assert from 'node:assert/strict'
import { test } from 'node:test'
import { results } from '#test/chats/chats.ts'
import { bring } from '#test/endpoints/house.ts'
import { testServer } from '#test/server.ts'
import { startOpenAI } from '#test/vendors/openai/openai.ts'

test('a call cut off by the token limit fails, and complete calls before it are made', async () => {
  await using server = await testServer({ environment: { UK_UPSTREAM_ALLOW: '127.0.0.1' } })
  await using vendor = await startOpenAI()
  const alice = await server.person('Alice')
  await bring(alice, vendor, 'acme', { models: [{ id: 'gpt-4o' }], test: false })
  const tools = [{ name: 'chats.create', policy: 'allow' }]
  const agent_id = (await alice.post('/agents', { name: 'Worker', model: 'acme/gpt-4o', tools })).body.data.id
  const chat = (await alice.post('/chats', { agent_id })).body.data.id
  const calls = [
    { id: 'one', name: 'chats_create', arguments: { title: 'Whole' } },
    { id: 'two', name: 'chats_create', arguments: '{"title":"Half of the na' },
  ]
  vendor.script({ reply: { tools: calls }, finish: 'length' }, { reply: 'so be it' })
  const { body, text } = await alice.post(`/chats/${chat}/messages`, { content: 'Make two chats' })
  assert.equal(body.data?.text, 'so be it', text)
  const [whole, half] = results(body.data)
  assert.equal(whole!.is_error, false)
  assert.match(half!.output.error.message, /cut off by the output token limit/)
  const titles = (await alice.get('/chats')).body.data.map(({ title }: { title: string }) => title)
  assert.ok(titles.includes('Whole'), titles.join())
  assert.ok(!titles.some((title: string) => title.startsWith('Half')), titles.join())
})
