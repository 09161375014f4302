import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Upload, type UploadOptions } from 'tus-js-client'
import { type Caller, type TestServer, testServer } from '#test/server.ts'

const tus = { 'tus-resumable': '1.0.0' }
const base64 = (words: string): string => Buffer.from(words).toString('base64')
const blobsIn = (server: TestServer): string[] =>
  readdirSync(join(server.database.dataDir, 'blobs'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name)

const begin = async (who: Caller, workspaceId: string, length: number | null, name = 'big.bin'): Promise<string> => {
  const response = await who.post('/drive/uploads', undefined, {
    ...tus,
    ...(length === null ? { 'upload-defer-length': '1' } : { 'upload-length': String(length) }),
    'upload-metadata': `workspace_id ${base64(workspaceId)},filename ${base64(name)}`,
  })
  assert.equal(response.status, 201, response.text)
  return new URL(response.headers.get('location')!).pathname
}

const send = (who: Caller, at: string, offset: number, bytes: Uint8Array, more: Record<string, string> = {}) =>
  who.request('PATCH', at, bytes, {
    ...tus,
    'content-type': 'application/offset+octet-stream',
    'upload-offset': String(offset),
    ...more,
  })

test('tus-js-client uploads a file in chunks and resumes through another server process', async () => {
  await using server = await testServer()
  await using twin = await server.twin()
  const alice = await server.person('Alice')
  const key = await alice.key({ scopes: ['drive:write'] })
  const bytes = randomBytes(5_000_000)
  const options = (more: Partial<UploadOptions>): UploadOptions => ({
    headers: key.headers,
    chunkSize: 700_000,
    retryDelays: null,
    metadata: { workspace_id: alice.workspaceId, filename: 'movie.bin', filetype: 'video/mp4' },
    ...more,
  })
  const address = await new Promise<string>((resolve, reject) => {
    const upload = new Upload(
      bytes,
      options({
        endpoint: `${server.origin}/v1/drive/uploads`,
        onError: reject,
        onChunkComplete: (_, sent) => {
          if (sent > 2_000_000) void upload.abort().then(() => resolve(upload.url!))
        },
      }),
    )
    upload.start()
  })
  const uploadUrl = address.replace(server.origin, twin.origin)
  const file = await new Promise<string>((resolve, reject) => {
    new Upload(
      bytes,
      options({
        uploadUrl,
        onError: reject,
        onSuccess: ({ lastResponse }) => resolve(lastResponse.getHeader('x-uk-file-id')!),
      }),
    ).start()
  })
  const about = (await key.get(`/drive/files/${file}/metadata`)).body.data
  assert.deepEqual(
    [about.name, about.size_bytes, about.sha256],
    ['movie.bin', bytes.length, createHash('sha256').update(bytes).digest('hex')],
  )
  assert.deepEqual(blobsIn(server), [about.sha256], 'no part is left')
  const upload = (await key.get(new URL(address).pathname)).body.data
  assert.deepEqual([upload.status, upload.file_id], ['completed', file])
})

test('tus rules for offsets, versions, checksums and termination hold', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const bob = await server.person('Bob')
  const options = await server.stranger.request('OPTIONS', '/drive/uploads')
  assert.equal(options.headers.get('tus-version'), '1.0.0')
  assert.match(options.headers.get('tus-extension')!, /creation.*expiration.*termination.*checksum/)
  const at = await begin(alice, alice.workspaceId, 10)
  const offset = async () => (await alice.request('HEAD', at, undefined, tus)).headers.get('upload-offset')
  const head = await alice.request('HEAD', at, undefined, tus)
  assert.deepEqual(
    ['upload-offset', 'upload-length', 'cache-control', 'tus-resumable'].map((name) => head.headers.get(name)),
    ['0', '10', 'no-store', '1.0.0'],
  )
  const first = await send(alice, at, 0, Buffer.from('01234'))
  assert.deepEqual([first.status, first.headers.get('upload-offset')], [204, '5'], first.text)
  const again = await send(alice, at, 0, Buffer.from('01234'))
  assert.deepEqual([again.status, again.headers.get('upload-offset')], [409, '5'])
  const other = await alice.request('PATCH', at, Buffer.from('56789'), {
    'content-type': 'application/offset+octet-stream',
    'upload-offset': '5',
    'tus-resumable': '0.2.2',
  })
  assert.deepEqual([other.status, other.headers.get('tus-version')], [412, '1.0.0'])
  const bad = await send(alice, at, 5, Buffer.from('56789'), { 'upload-checksum': `sha1 ${base64('no')}` })
  assert.deepEqual([bad.status, bad.body.error.code, await offset()], [460, 'checksum_mismatch', '5'])
  const many = await send(alice, at, 5, Buffer.from('56789x'))
  assert.deepEqual([many.status, await offset()], [413, '5'])
  assert.equal((await send(bob, at, 5, Buffer.from('56789'))).status, 404)
  const digest = createHash('sha1').update('56789').digest('base64')
  const both = await Promise.all(
    [0, 1].map(() => send(alice, at, 5, Buffer.from('56789'), { 'upload-checksum': `sha1 ${digest}` })),
  )
  assert.deepEqual(both.map(({ status }) => status).sort(), [204, 409], 'of two who send the end one is heard')
  const file = both.find(({ status }) => status === 204)!.headers.get('x-uk-file-id')!
  assert.equal((await alice.get(`/drive/files/${file}`)).text, '0123456789')

  const abandoned = await begin(alice, alice.workspaceId, 10, 'given-up')
  await send(alice, abandoned, 0, Buffer.from('01234'))
  const wrong = await alice.request('PATCH', abandoned, Buffer.from('x'), { ...tus, 'upload-offset': '5' })
  assert.equal(wrong.status, 415)
  assert.equal((await alice.request('DELETE', abandoned, undefined, tus)).status, 204)
  assert.equal((await alice.request('HEAD', abandoned, undefined, tus)).status, 404)
  assert.equal(blobsIn(server).length, 1)
  const empty = await begin(alice, alice.workspaceId, 0, 'empty')
  const { data } = (await alice.get(empty)).body
  assert.equal((await alice.get(`/drive/files/${data.file_id}`)).text, '')
})

test('an upload that can’t succeed is rejected before its bytes: existing name, no space, too large', async () => {
  await using server = await testServer({ environment: { UK_LIMIT_STORAGE_BYTES: '1000', UK_LIMIT_FILE_BYTES: '800' } })
  const alice = await server.person('Alice')
  const at = { workspace_id: alice.workspaceId }
  const existing = (await alice.post('/drive/files', { ...at, name: 'a.bin', content: 'x'.repeat(300) })).body.data
  const ask = (length: number, name: string, more = '') =>
    alice.post('/drive/uploads', undefined, {
      ...tus,
      'upload-length': String(length),
      'upload-metadata': `workspace_id ${base64(alice.workspaceId)},filename ${base64(name)}${more}`,
    })
  const refused = await ask(10, 'a.bin')
  assert.deepEqual(
    [refused.status, refused.body.error.code, refused.body.error.details.id, refused.headers.get('tus-resumable')],
    [409, 'already_exists', existing.id, '1.0.0'],
    refused.text,
  )
  assert.equal((await ask(701, 'b.bin')).status, 507)
  const large = await ask(801, 'b.bin')
  assert.deepEqual([large.status, large.headers.get('tus-max-size')], [413, '800'])
  const version = await ask(5, 'a.bin', `,on_conflict ${base64('version')}`)
  assert.equal(version.status, 201, version.text)
  const response = await send(alice, new URL(version.headers.get('location')!).pathname, 0, Buffer.from('newer'))
  assert.equal(response.headers.get('x-uk-file-id'), existing.id)
  assert.equal((await alice.get(`/drive/files/${existing.id}`)).text, 'newer')
})

test('a key for one workspace can’t see or end uploads to another', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const { id: team } = (await alice.post('/workspaces', { name: 'Team' })).body.data
  const key = await alice.key({ workspace_id: team })
  const at = await begin(alice, alice.workspaceId, 10)
  await send(alice, at, 0, Buffer.from('01234'))
  assert.equal((await key.get(at)).status, 404)
  assert.equal((await send(key, at, 5, Buffer.from('56789'))).status, 404)
  assert.equal((await key.request('DELETE', at, undefined, tus)).status, 404)
  const response = await send(alice, at, 5, Buffer.from('56789'))
  assert.equal((await alice.get(`/drive/files/${response.headers.get('x-uk-file-id')}`)).text, '0123456789')

  // It can upload into a folder shared with its workspace.
  const bob = await server.person('Bob')
  const { token } = (await alice.post(`/workspaces/${team}/invitations`, { email: bob.email })).body.data
  await bob.post('/invitations/accept', { token })
  const { id: folder } = (await bob.post('/drive/files/folders', { workspace_id: bob.workspaceId, name: 'in' })).body
    .data
  const share = { resource_type: 'folder', resource_id: folder, grantee: { workspace_id: team }, access: 'edit' }
  assert.equal((await bob.post('/shares', share)).status, 201)
  const creation = await key.post('/drive/uploads', undefined, {
    ...tus,
    'upload-length': '1',
    'upload-metadata': `parent_id ${base64(folder)},filename ${base64('a')}`,
  })
  const lastResponse = await send(key, new URL(creation.headers.get('location')!).pathname, 0, Buffer.from('x'))
  assert.equal(lastResponse.status, 204, lastResponse.text)
  assert.equal((await bob.get(`/drive/files/${lastResponse.headers.get('x-uk-file-id')}`)).text, 'x')
})

test('of two concurrent requests that set the length one wins, and the upload completes', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const at = await begin(alice, alice.workspaceId, null, 'a')
  const responses = await Promise.all(
    [4, 7].map((length) => send(alice, at, 0, Buffer.alloc(0), { 'upload-length': String(length) })),
  )
  assert.deepEqual(responses.map(({ status }) => status).sort(), [204, 400], responses.map(({ text }) => text).join())
  const length = Number((await alice.request('HEAD', at, undefined, tus)).headers.get('upload-length'))
  assert.equal(responses[length === 4 ? 0 : 1]!.status, 204)
  const done = await send(alice, at, 0, Buffer.alloc(length, 'x'))
  assert.equal((await alice.get(`/drive/files/${done.headers.get('x-uk-file-id')}`)).text, 'x'.repeat(length))

  // One sender is in the middle of its bytes and knows of no length; another says it.
  const other = await begin(alice, alice.workspaceId, null, 'b')
  const { promise: go, resolve } = Promise.withResolvers<void>()
  const slow = fetch(`${server.origin}${other}`, {
    method: 'PATCH',
    headers: { ...alice.headers, ...tus, 'content-type': 'application/offset+octet-stream', 'upload-offset': '0' },
    body: ReadableStream.from(
      (async function* () {
        yield Buffer.from('01')
        await go
        yield Buffer.from('234')
      })(),
    ),
    duplex: 'half',
  })
  // Nothing tells from outside that the first bytes are being read.
  await new Promise((next) => setTimeout(next, 100))
  const few = await begin(alice, alice.workspaceId, null, 'c')
  assert.equal((await send(alice, other, 0, Buffer.alloc(0), { 'upload-length': '5' })).status, 204)
  resolve()
  const answer = await slow
  assert.deepEqual([answer.status, answer.headers.get('upload-offset')], [204, '5'], await answer.text())
  assert.equal((await alice.get(`/drive/files/${answer.headers.get('x-uk-file-id')}`)).text, '01234')

  await send(alice, few, 0, Buffer.from('0123'))
  assert.equal((await send(alice, few, 4, Buffer.from('4'), { 'upload-length': '3' })).status, 400, 'more has come')
  const whole = await send(alice, few, 4, Buffer.from('4'), { 'upload-length': '5' })
  assert.equal((await alice.get(`/drive/files/${whole.headers.get('x-uk-file-id')}`)).text, '01234')
})
