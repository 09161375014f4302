import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { test } from 'node:test'
import { testServer } from '#test/server.ts'
import { form, upload } from '#test/drive/drive.ts'

test('an uploaded file downloads unchanged, and other users get 404', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const bob = await server.person('Bob')
  const bytes = Buffer.from('Grüße\n'.repeat(1000))
  const response = await upload(alice, { workspace_id: alice.workspaceId }, bytes, 'Grüße "1".txt')
  assert.equal(response.status, 201, response.text)
  const file = response.body.data
  assert.deepEqual(
    [file.name, file.path, file.kind, file.parent_id, file.size_bytes, file.mime_type, file.content_version],
    ['Grüße "1".txt', 'Grüße "1".txt', 'file', null, bytes.length, 'text/plain', 1],
  )
  assert.equal(file.sha256, createHash('sha256').update(bytes).digest('hex'))

  const metadata = await alice.get(`/drive/files/${file.id}`)
  assert.equal(metadata.status, 200, metadata.text)
  assert.equal(metadata.text, bytes.toString())
  assert.deepEqual(
    ['content-type', 'content-length', 'x-content-type-options', 'content-security-policy', 'etag'].map((name) =>
      metadata.headers.get(name),
    ),
    ['text/plain; charset=utf-8', String(bytes.length), 'nosniff', "sandbox; default-src 'none'", `"${file.sha256}"`],
  )
  assert.equal(
    metadata.headers.get('content-disposition'),
    `inline; filename="Gr__e _1_.txt"; filename*=UTF-8''Gr%C3%BC%C3%9Fe%20%221%22.txt`,
  )
  assert.deepEqual((await alice.get(`/drive/files/${file.id}/metadata`)).body.data, file)
  for (const path of ['', '/metadata']) assert.equal((await bob.get(`/drive/files/${file.id}${path}`)).status, 404)
  assert.equal((await upload(bob, { workspace_id: alice.workspaceId }, bytes, 'x')).status, 404)
})

test('range and conditional requests follow RFC 9110', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const { data: file } = (await upload(alice, { workspace_id: alice.workspaceId }, Buffer.from('0123456789'), 'ten'))
    .body
  const at = `/drive/files/${file.id}`
  for (const [range, status, text, where] of [
    ['bytes=2-4', 206, '234', 'bytes 2-4/10'],
    ['bytes=7-', 206, '789', 'bytes 7-9/10'],
    ['bytes=-3', 206, '789', 'bytes 7-9/10'],
    ['bytes=8-99', 206, '89', 'bytes 8-9/10'],
    ['bytes=0-1,4-5', 200, '0123456789', null],
    ['pages=1-2', 200, '0123456789', null],
  ] as const) {
    const answer = await alice.get(at, { range })
    assert.deepEqual([answer.status, answer.text, answer.headers.get('content-range')], [status, text, where], range)
  }
  const beyond = await alice.get(at, { range: 'bytes=10-' })
  assert.deepEqual(
    [beyond.status, beyond.body.error.type, beyond.headers.get('content-range')],
    [416, 'range_not_satisfiable', 'bytes */10'],
  )
  const etag = `"${file.sha256}"`
  assert.equal((await alice.get(at, { 'if-none-match': etag })).status, 304)
  assert.equal((await alice.get(at, { 'if-none-match': '"other"' })).status, 200)
  assert.equal((await alice.get(at, { 'if-match': '"other"' })).status, 412)
  assert.equal((await alice.get(at, { range: 'bytes=1-2', 'if-range': '"other"' })).status, 200)
  assert.equal((await alice.get(at, { range: 'bytes=1-2', 'if-range': etag })).status, 206)
  const head = await alice.request('HEAD', at)
  assert.deepEqual([head.status, head.headers.get('content-length'), head.text], [200, '10', ''])
})

test('an existing name is rejected, numbered, or gets a new version, as the sender chooses', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const put = (more: Record<string, string>, text: string) =>
    upload(alice, { workspace_id: alice.workspaceId, ...more }, Buffer.from(text), 'a.txt')
  const { data: first } = (await put({}, 'one')).body
  const conflict = await put({}, 'two')
  assert.deepEqual(
    [conflict.status, conflict.body.error.code, conflict.body.error.details.id],
    [409, 'already_exists', first.id],
  )
  const renamed = await put({ on_conflict: 'rename' }, 'two')
  assert.deepEqual([renamed.status, renamed.body.data.name], [201, 'a (2).txt'])
  const version = await put({ on_conflict: 'version' }, 'two')
  assert.deepEqual(
    [version.status, version.body.data.id, version.body.data.content_version],
    [200, first.id, 2],
    version.text,
  )
  assert.equal((await alice.get(`/drive/files/${first.id}`)).text, 'two')
})

test('ten concurrent requests create a folder once', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const make = (body: object) => alice.post('/drive/files/folders', body)
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => make({ workspace_id: alice.workspaceId, name: 'Plans' })),
  )
  assert.deepEqual(new Set(answers.map(({ body }) => body.data.id)).size, 1, answers[0]!.text)
  assert.equal(answers.filter(({ status }) => status === 201).length, 1)
  const { data: plans } = answers[0]!.body
  const inner = (await make({ parent_id: plans.id, name: '2027' })).body.data
  assert.deepEqual(
    [inner.path, inner.parent_id, inner.mime_type, inner.size_bytes],
    ['Plans/2027', plans.id, null, null],
  )
  await upload(alice, { parent_id: inner.id }, Buffer.from('x'), 'a.md')
  const names = async (query: string) =>
    (await alice.get(`/drive/files?${query}`)).body.data.map(({ path }: { path: string }) => path)
  assert.deepEqual(await names(`parent_id=${inner.id}`), ['Plans/2027/a.md'])
  assert.deepEqual(await names('parent_id=root'), ['Plans'])
  assert.deepEqual(await names('limit=2'), ['Plans/2027/a.md', 'Plans/2027'])
  assert.deepEqual(await names('kind=file'), ['Plans/2027/a.md'])
  const file = await upload(alice, { workspace_id: alice.workspaceId }, Buffer.from('x'), 'Plans')
  assert.deepEqual([file.status, file.body.error.details.kind], [409, 'folder'])
})

test('an invalid upload is rejected with the reason and stores nothing', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const at = { workspace_id: alice.workspaceId }
  for (const [name, why] of [
    ['..', 'must not be'],
    ['a/b', 'must not contain `/`'],
    ['a\u0000b', 'NUL'],
    ['a\tb', 'control'],
    ['photo\u202Egpj.exe', 'direction'],
    ['x'.repeat(256), '255 bytes'],
    [' ', 'spaces'],
    ['', 'empty'],
  ] as const) {
    const refused = await upload(alice, { ...at, name }, Buffer.from('x'), 'x')
    assert.deepEqual([refused.status, refused.body.error.param], [400, 'name'], refused.text)
    assert.ok(refused.body.error.message.includes(why), refused.body.error.message)
  }
  const longest = await upload(alice, { ...at, name: 'é'.normalize('NFD').repeat(127) }, Buffer.from('x'), 'x')
  assert.equal(longest.body.data.name, 'é'.repeat(127), 'names are kept in NFC')
  const nowhere = await upload(alice, {}, Buffer.from('x'), 'x')
  assert.deepEqual([nowhere.status, nowhere.body.error.param], [400, 'workspace_id'])
  const late = form([
    ['file', Buffer.from('x'), 'late.txt'],
    ['workspace_id', alice.workspaceId],
  ])
  const before = await alice.request('POST', '/drive/files', late.body, late.headers)
  assert.deepEqual([before.status, before.body.error.param], [400, 'workspace_id'])
})

test('`uk drive upload` and `uk drive download` preserve every byte', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const { key } = await alice.key({ scopes: ['drive:write'] })
  const home = server.database.dataDir
  const uk = (...words: string[]) =>
    promisify(execFile)(join(import.meta.dirname, '../../../bin/uk'), words, {
      env: { PATH: process.env.PATH, HOME: home, UK_ORIGIN: server.origin, UK_KEY: key },
    })
  const bytes = randomBytes(300_000)
  writeFileSync(join(home, 'möbius.bin'), bytes)
  const result = await uk(
    'drive',
    'upload',
    '--workspace-id',
    alice.workspaceId,
    '--file',
    join(home, 'möbius.bin'),
    '--json',
  )
  const { data } = JSON.parse(result.stdout)
  assert.deepEqual([data.name, data.size_bytes], ['möbius.bin', bytes.length])
  await uk('drive', 'download', data.id, '--output', join(home, 'back.bin'))
  assert.ok(readFileSync(join(home, 'back.bin')).equals(bytes))
  await assert.rejects(
    uk('drive', 'upload', '--workspace-id', alice.workspaceId, '--file', '/nowhere'),
    /nowhere doesn.t exist on this machine/,
  )
})
