import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadContracts } from '#modules/contracts.ts'
import { surfaces } from '#gateway/mount.ts'
import { newId } from '#core/ids.ts'
import { inputSchemas, list } from '#core/registry.ts'
import { type Caller, testServer } from '../../server.ts'
import { pathOf, requiredFields } from '../least-call.ts'

const CONVERSATIONS =
  /\/(chat\/completions|responses|responses\/compact|responses\/input_tokens|messages|messages\/count_tokens)$/

const chatPaths = surfaces.flatMap(({ roots: [root], routes }) =>
  Object.entries(routes).flatMap(([path, methods]) =>
    CONVERSATIONS.test(path) && 'POST' in methods ? [root + path] : [],
  ),
)

/** A list of this length in a truncated body: a parser would report the truncation instead of the length. */
const brokenBody = (name: string, element: string, times: number): string =>
  `{"${name}":[${`${element},`.repeat(times)}`
const assertRefused = async (caller: Caller, path: string, body: string, field: string, most: number) => {
  const answer = await caller.request('POST', path, Buffer.from(body))
  assert.equal(answer.status, 400, `${path} ${field}: ${answer.text}`)
  assert.ok(answer.text.includes(`\`${field}\` can have up to ${most} elements.`), `${path}: ${answer.text}`)
}

test('the gateways name the list that is too long and its limit', async () => {
  await using server = await testServer()
  const key = await (await server.person('Alice')).key()
  assert.ok(chatPaths.length >= 8, chatPaths.join())
  const message = '{"role":"user","content":"x"}'
  for (const path of chatPaths) {
    const field = path.includes('/responses') ? 'input' : 'messages'
    await assertRefused(key, path, brokenBody(field, message, 330_000), field, 20_000)
    await assertRefused(key, path, brokenBody('tools', '{"type":"function","name":"f"}', 50_000), 'tools', 10_000)
    await assertRefused(key, path, brokenBody('t\\u006fols', '{"type":"function","name":"f"}', 50_000), 'tools', 10_000)
    await assertRefused(key, path, brokenBody('stop', '"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"', 2_000), 'stop', 256)
    const parts = brokenBody('content', '{"type":"text","text":""}', 6_000)
    await assertRefused(key, path, `{"${field}":[${message},${parts}`, `${field}.1.content`, 5_000)
    const values = await key.request('POST', path, Buffer.from(`{"metadata":{"a":[${'[{},1],'.repeat(100_000)}`))
    assert.match(values.text, /contains more than 250000 values \(limit reached at `metadata`\)/, path)
  }
})

test('platform endpoints name a list that exceeds their contract', async () => {
  await using server = await testServer()
  const session = await server.person('Alice')
  const key = await session.key()
  let lists = 0
  for (const { endpoint } of list(await loadContracts())) {
    const { body } = inputSchemas(endpoint)
    if (body === null || !['POST', 'PATCH', 'PUT'].includes(endpoint.method) || endpoint.takes !== undefined) continue
    const path = pathOf(endpoint, newId()) + requiredFields(endpoint)
    const caller = endpoint.access.kind === 'session' ? session : key
    for (const name of Object.keys(body.shape)) {
      const answer = await caller.request(endpoint.method, path, Buffer.from(brokenBody(name, '""', 25_000)))
      // Some are refused before the body is read.
      if (answer.status !== 400) continue
      assert.match(answer.text, new RegExp(`\`${name}\` can have up to \\d+ elements`), `${endpoint.method} ${path}`)
      lists++
      break
    }
  }
  assert.ok(lists > 20, String(lists))
  const messages = brokenBody('messages', '{"role":"user","content":"x"}', 330_000)
  await assertRefused(key, '/inference/text', messages, 'messages', 10_000)
})

test('bodies with too many fields or very long model names get a short refusal on every route', async () => {
  await using server = await testServer()
  const key = await (await server.person('Alice')).key()
  const fields = Array.from({ length: 90_000 }, (_, n) => `"f${n}":0`).join()
  for (const path of ['/chats', '/inference/text', '/drive/files', ...chatPaths]) {
    const many = await key.request('POST', path, Buffer.from(`{${fields}`))
    assert.equal(many.status, 400, path)
    assert.match(many.text, /The body has more than 1000 fields\./, path)
    const few = await key.request('POST', path, Buffer.from(`{${fields.slice(0, fields.indexOf('"f900"') - 1)}}`))
    assert.equal(few.status, 400, path)
    assert.ok(few.text.length < 1_000, `${path}: ${few.text.slice(0, 1_200)}`)
    const metadata = await key.request('POST', path, Buffer.from(`{"metadata":{${fields}`))
    assert.match(metadata.text, /`metadata` can have up to (5000|20000) elements/, path)
  }
  for (const path of ['/inference/text', ...chatPaths]) {
    const message = { role: 'user', content: 'x' }
    const body = { model: `sim/${'x'.repeat(900_000)}`, max_tokens: 5, messages: [message], input: [message] }
    const { text, status } = await key.post(path, body)
    assert.ok(status >= 400 && status < 500, `${path} ${status}`)
    assert.ok(text.length < 2_000, `${path}: ${text.length} characters`)
  }
})
