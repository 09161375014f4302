import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { requestOf } from '#interfaces/docs/browser/try-it.js'
import { draftOf, filled } from './draft.ts'
import { operationsIn } from './operations.ts'
import { snippetsOf } from './snippets.ts'

const operations = operationsIn(JSON.parse(readFileSync(new URL('../../../../openapi.json', import.meta.url), 'utf8')))
const operation = (id: string) => operations.find((one) => one.id === id)!

test('every endpoint of the OpenAPI description becomes a form with its parameters and body fields', () => {
  for (const one of operations) {
    const inPath = [...one.path.matchAll(/:(\w+)/g)].map(([, name]) => name)
    assert.deepEqual(
      one.fields.filter(({ place }) => place === 'path').map(({ name }) => name),
      inPath,
      one.id,
    )
    assert.ok(one.area !== '' && one.summary !== '', one.id)
    // The initial values of a form can be sent and shown as code.
    const [url] = requestOf(
      filled(one, { ...draftOf(one), ...Object.fromEntries(inPath.map((n) => [`path ${n}`, 'x'])) }, null, null),
    )
    assert.ok(url.startsWith('/v1/') && !url.includes(':'), `${one.id}: ${url}`)
    for (const { name, code } of snippetsOf(one, filled(one, draftOf(one), null, null), 'http://h'))
      assert.ok(code.length > 5, `${one.id} as ${name}`)
  }
})

test('form values are sent as numbers and JSON, and empty fields are omitted', () => {
  const send = operation('chats_send')
  const call = filled(send, { 'path id': 'A/B', 'body content': 'hi', 'body model': '' }, null, null)
  assert.deepEqual(requestOf(call), [
    '/v1/chats/A%2FB/messages',
    {
      method: 'POST',
      credentials: 'same-origin',
      headers: { 'x-uk-csrf': '1', 'content-type': 'application/json' },
      body: '{"content":"hi"}',
    },
  ])
  const list = operation('chats_list')
  assert.equal(requestOf(filled(list, { 'query limit': '3' }, null, null))[0], '/v1/chats?limit=3')
  assert.throws(() => filled(send, { 'body content': '[{' }, null, null), /content isn’t valid JSON/)
  const keyed = requestOf(filled(list, {}, null, 'uk_x'))[1]
  assert.deepEqual([keyed.headers, keyed.credentials], [{ authorization: 'Bearer uk_x' }, 'omit'])
})

test('the call is shown for curl, the client and the CLI', () => {
  const send = operation('chats_send')
  const [curl, client, uk] = snippetsOf(
    send,
    filled(send, { 'path id': '01X', 'body content': 'it’s' }, null, null),
    'http://h',
  )
  assert.match(curl!.code, /curl http:\/\/h\/v1\/chats\/01X\/messages[\s\S]*Bearer \$UK_KEY[\s\S]*"content": "it’s"/)
  assert.match(client!.code, /uk\.chats\.send\(\{ id: '01X', content: 'it’s' \}\)/)
  assert.equal(uk!.code, "uk chats send --id 01X --content 'it’s'")
  const upload = operation('drive_upload')
  assert.match(snippetsOf(upload, filled(upload, {}, null, null), 'http://h')[0]!.code, /-F file=@hello\.txt/)
})
