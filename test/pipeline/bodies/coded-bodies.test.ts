import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { loadContracts } from '#modules/contracts.ts'
import { list } from '#core/registry.ts'
import { type Made, make } from '#test/automations/hooks.ts'
import { form } from '#test/drive/drive.ts'
import { type Answer, type Person, type TestServer, testServer } from '#test/server.ts'

let server: TestServer
let alice: Person
let hook: Made
before(async () => {
  server = await testServer({ environment: { UK_LIMIT_WRITES: '0', UK_LIMIT_READS: '0', UK_LIMIT_INFERENCE: '0' } })
  alice = await server.person('Alice')
  hook = await make(alice, { overlap: 'allow' })
})
after(() => server[Symbol.asyncDispose]())

const fire = (body: Uint8Array, headers: Record<string, string>): Promise<Answer> =>
  server.stranger.request('POST', `/automations/${hook.id}/fire`, body, {
    authorization: `Bearer ${hook.token}`,
    ...headers,
  })
const payloadOf = async ({ body }: Answer): Promise<string> => {
  const { rows } = await server.app.engine.postgres.pool.query('select payload from automation_runs where id = $1', [
    body.data.id,
  ])
  return rows[0].payload
}

const TEXT = '{"order":7,"city":"Malmö"}'
const plain = Buffer.from(TEXT)

for (const [coding, bytes] of Object.entries({
  identity: plain,
  gzip: gzipSync(plain),
  'x-gzip': gzipSync(plain),
  deflate: deflateSync(plain),
  'deflate ': deflateRawSync(plain),
  br: brotliCompressSync(plain),
  zstd: zstdCompressSync(plain),
  'GZIP, br': brotliCompressSync(gzipSync(plain)),
}))
  test(`a webhook encoded as ${coding} reaches the agent as text`, async () => {
    const answer = await fire(bytes, { 'content-type': 'application/json', 'content-encoding': coding.trim() })
    assert.equal(answer.status, 202, answer.text)
    assert.equal(await payloadOf(answer), TEXT)
  })

const utf16 = (text: string): Buffer => Buffer.from(text, 'utf16le')
for (const [charset, bytes, text] of [
  ['iso-8859-1', Buffer.from('{"city":"Malmö"}', 'latin1'), '{"city":"Malmö"}'],
  ['"windows-1252"', Buffer.from([0x80, 0x20, 0x37]), '€ 7'],
  ['shift_jis', Buffer.from([0x95, 0x69, 0x96, 0xbc]), '品名'],
  ['gbk', Buffer.from([0xc6, 0xb7, 0xc3, 0xfb]), '品名'],
  ['utf-16', Buffer.concat([Buffer.from([0xff, 0xfe]), utf16('é')]), 'é'],
  ['utf-16', Buffer.concat([Buffer.from([0xfe, 0xff]), utf16('é').swap16()]), 'é'],
  ['utf-16le', utf16('é'), 'é'],
  ['UTF-8', Buffer.from('é'), 'é'],
] as const)
  test(`a webhook in ${charset} reaches the agent as text`, async () => {
    const answer = await fire(bytes, { 'content-type': `application/json; charset=${charset}` })
    assert.equal(answer.status, 202, answer.text)
    assert.equal(await payloadOf(answer), text)
  })

test('webhooks that can’t be decoded are refused with the accepted encodings', async () => {
  const json = { 'content-type': 'application/json' }
  const unknown = await fire(plain, { ...json, 'content-encoding': 'compress' })
  assert.deepEqual([unknown.status, unknown.headers.get('accept-encoding')], [415, 'gzip, deflate, br, zstd'])
  assert.equal((await fire(gzipSync(plain), { ...json, 'content-encoding': 'gzip, gzip, gzip' })).status, 415)
  const brokenReply = await fire(plain, { ...json, 'content-encoding': 'gzip' })
  assert.deepEqual([brokenReply.status, brokenReply.body.error.code], [400, 'invalid_parameter'])
  assert.equal((await fire(Buffer.from([0x7b, 0xf6, 0x7d]), json)).status, 415)
  assert.equal((await fire(plain, { 'content-type': 'application/json; charset=klingon' })).status, 415)
})

test('a small body that decodes to more than the webhook limit is refused', async () => {
  const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
  const bomb = await fire(gzipSync(Buffer.alloc(200 << 20)), headers)
  assert.deepEqual([bomb.status, bomb.body.error.details.limit_bytes], [413, 1 << 20])
  const twice = await fire(gzipSync(gzipSync(Buffer.alloc(200 << 20))), {
    ...headers,
    'content-encoding': 'gzip, gzip',
  })
  assert.equal(twice.status, 413)
})

test('unauthorized callers are refused before the body is decoded', async () => {
  const answer = await fire(plain, { authorization: `Bearer ukw_${'a'.repeat(43)}`, 'content-encoding': 'compress' })
  assert.deepEqual([answer.status, answer.body.error.code], [401, 'invalid_signature'])
})

test('all other routes refuse encoded bodies', async () => {
  const key = await alice.key()
  const routes = list(await loadContracts()).filter(
    ({ endpoint }) =>
      endpoint.decodes === undefined &&
      endpoint.refused === undefined &&
      !endpoint.path.includes(':') &&
      (endpoint.body !== undefined || endpoint.takes !== undefined),
  )
  assert.ok(routes.length > 30)
  const wrong: string[] = []
  for (const { name, endpoint } of routes) {
    const caller = ['session', 'secret', 'open'].includes(endpoint.access.kind) ? alice : key
    const answer = await caller.request(endpoint.method, endpoint.path, new Uint8Array(gzipSync('{}')), {
      'content-type': 'application/json',
      'x-uk-csrf': '1',
      'content-encoding': 'gzip',
    })
    if (answer.status !== 415) wrong.push(`${name}: ${answer.status} ${answer.text.slice(0, 100)}`)
    else assert.equal(answer.headers.get('accept-encoding'), 'identity', name)
  }
  assert.deepEqual(wrong, [])
})

test('forms and tus parts with a content encoding are refused', async () => {
  const { body, headers } = form([
    ['workspace_id', alice.workspaceId],
    ['file', Buffer.from('x'), 'x.txt'],
  ])
  const response = await alice.request('POST', '/drive/files', body, { ...headers, 'content-encoding': 'br' })
  assert.equal(response.status, 415)
  const base64 = (words: string) => Buffer.from(words).toString('base64')
  const tus = { 'tus-resumable': '1.0.0' }
  const uploadResponse = await alice.post('/drive/uploads', undefined, {
    ...tus,
    'upload-length': '1',
    'upload-metadata': `workspace_id ${base64(alice.workspaceId)},filename ${base64('a.txt')}`,
  })
  assert.equal(uploadResponse.status, 201, uploadResponse.text)
  const part = await alice.request(
    'PATCH',
    new URL(uploadResponse.headers.get('location')!, server.origin).pathname,
    Buffer.from('x'),
    {
      ...tus,
      'upload-offset': '0',
      'content-type': 'application/offset+octet-stream',
      'content-encoding': 'gzip',
    },
  )
  assert.equal(part.status, 415)
})
