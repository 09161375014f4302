import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { lstatSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type Proxy, proxyTo } from '#test/link/proxy.ts'
import { daemonHome } from '#test/link/run-daemon.ts'
import { type StartedDaemon, startDaemon } from '#test/link/start-daemon.ts'
import { peopleAround } from '#test/computers/world.ts'
import { temporaryDir } from '#test/program.ts'
import { agentAt } from '#test/mcp/mcp.ts'
import type { Caller } from '#test/server.ts'
import { twoServers } from '#test/two-servers.ts'
import { PATIENCE_MS } from '#test/until.ts'

const { server, alice } = await twoServers()
const stack = new AsyncDisposableStack()
after(() => stack.disposeAsync())

const { bob, carol, vera, team } = await peopleAround(server, alice)
/** Alice's computer, with access to everything under `root`. */
let id: string

let root: string
let proxy: Proxy
let daemon: StartedDaemon

before(async () => {
  const home = stack.use(daemonHome())
  root = stack.use(temporaryDir()).path
  proxy = stack.use(await proxyTo(server.origin))
  daemon = stack.use(await startDaemon(home, proxy.origin, alice, ['--root', root]))
  id = daemon.id
  assert.ok(await server.app.engine.links.online(id, PATIENCE_MS))
})

const code = ({ status, body }: { status: number; body: { error?: { code?: string } } }) => [status, body?.error?.code]
const at = (name: string): string => join(root, name)
const fs = (who: Caller, op: string, path: string, more: object = {}) =>
  who.post(`/computers/${id}/fs`, { op, path, ...more })

const places = (path: string, more = '') => `?path=${encodeURIComponent(path)}${more}`
const downloadPath = (path: string, more = '') => `/computers/${id}/fs/download${places(path, more)}`
const uploadPath = (path: string, more = '') => `/computers/${id}/fs/upload${places(path, more)}`
const upload = (
  who: Caller,
  path: string,
  bytes: Uint8Array | string,
  headers: Record<string, string> = {},
  more = '',
) => who.request('POST', uploadPath(path, more), bytes, { 'content-type': 'application/octet-stream', ...headers })

const get = (who: Caller, path: string, headers: Record<string, string> = {}, more = '', method = 'GET') =>
  fetch(`${who.origin}/v1${downloadPath(path, more)}`, { method, headers: { ...who.headers, ...headers } })

const sha = (bytes: Uint8Array | string) => createHash('sha256').update(bytes).digest('hex')

test('files can be created, listed, viewed and removed', async () => {
  assert.deepEqual(code(await fs(alice, 'mkdir', at('a/b/c'))), [404, undefined])
  const response = await fs(alice, 'mkdir', at('a/b/c'), { parents: true })
  assert.deepEqual([response.status, response.body.data.type, response.body.data.path], [200, 'folder', at('a/b/c')])
  for (let n = 0; n < 5; n++) writeFileSync(at(`a/file-${n}`), 'x'.repeat(n))
  symlinkSync('/etc/passwd', at('a/link'))
  const names: string[] = []
  for (let cursor: string | null = null, pages = 0; ; pages++) {
    const page: any = await fs(alice, 'list', at('a'), { limit: 3, ...(cursor && { cursor }) })
    assert.equal(page.status, 200, page.text)
    names.push(...page.body.data.map(({ name }: { name: string }) => name))
    cursor = page.body.pagination.next_cursor
    if (cursor !== null) continue
    assert.equal(pages, 2)
    break
  }
  assert.deepEqual(names, ['b', 'file-0', 'file-1', 'file-2', 'file-3', 'file-4', 'link'])
  const { data: link } = (await fs(alice, 'stat', at('a/link'))).body
  assert.deepEqual([link.type, link.target], ['symlink', '/etc/passwd'])
  assert.deepEqual(code(await fs(alice, 'remove', at('a'))), [409, 'invalid_state'])
  assert.deepEqual((await fs(alice, 'remove', at('a/link'))).body, { data: { path: at('a/link'), removed: 1 } })
  assert.ok(statSync('/etc/passwd').size > 0)
  assert.equal((await fs(alice, 'remove', at('a'), { recursive: true })).body.data.removed, 8)
  assert.deepEqual(code(await fs(alice, 'stat', at('a'))), [404, undefined])
  for (const [op, path, more] of [
    ['stat', 'relative', {}],
    ['stat', '/a\0b', {}],
    ['stat', `/${'x'.repeat(13_000)}`, {}],
    ['stat', at('a'), { recursive: true }],
    ['format', at('a'), {}],
  ] as const)
    assert.equal((await fs(alice, op, path, more)).status, 400, path.slice(0, 20))
})

test('files outside the allowed folders can’t be reached by any path', async () => {
  symlinkSync('/etc', at('out'))
  symlinkSync('/etc/passwd', at('passwd'))
  for (const path of ['/etc/passwd', at('out/passwd'), at('passwd'), at('../../../../../../etc/passwd')]) {
    const answer = await alice.get(downloadPath(path))
    assert.deepEqual(code(answer), [403, 'capability_denied'], path)
  }
  assert.deepEqual(code(await fs(alice, 'list', at('out'))), [403, 'capability_denied'])
  assert.deepEqual(code(await upload(alice, at('out/written'), 'x')), [403, 'capability_denied'])
  assert.deepEqual(code(await fs(alice, 'mkdir', '/etc/made')), [403, 'capability_denied'])
})

test('a member with read access can’t change files; others can’t read them', async () => {
  writeFileSync(at('shared.txt'), 'for bob')
  const { id: exposed } = (
    await alice.post(`/computers/${id}/exposures`, { workspace_id: team, capabilities: ['fs_read'] })
  ).body.data
  assert.ok(exposed)
  assert.equal(await (await get(bob, at('shared.txt'))).text(), 'for bob')
  assert.equal((await fs(bob, 'list', root)).status, 200)
  for (const answer of [
    await fs(bob, 'mkdir', at('bobs')),
    await fs(bob, 'remove', at('shared.txt')),
    await upload(bob, at('bobs.txt'), 'x'),
    await bob.get(uploadPath(at('bobs.txt'))),
    await bob.get(`/computers/${id}/users`),
  ])
    assert.deepEqual(code(answer), [403, 'capability_denied'], answer.text)
  assert.equal(readFileSync(at('shared.txt'), 'utf8'), 'for bob')
  // A viewer sees the computer, a stranger doesn't.
  assert.deepEqual(code(await fs(vera, 'list', root)), [403, 'insufficient_role'])
  assert.deepEqual(code(await vera.get(downloadPath(at('shared.txt')))), [403, 'insufficient_role'])
  assert.deepEqual(code(await carol.get(downloadPath(at('shared.txt')))), [404, undefined])
  assert.deepEqual(code(await fs(carol, 'list', root)), [404, undefined])
  assert.deepEqual(code(await upload(carol, at('x'), 'x')), [404, undefined])
  // Keys are limited to their scopes.
  const reader = await alice.key({ scopes: ['computer:read'] })
  assert.equal((await get(reader, at('shared.txt'))).status, 200)
  assert.deepEqual(code(await fs(reader, 'remove', at('shared.txt'))), [403, 'missing_scope'])
  assert.deepEqual(code(await upload(reader, at('x'), 'x')), [403, 'missing_scope'])
  // An agent with Bob's key.
  const key = await bob.key()
  await using agent = await agentAt(server.origin, key.key)
  const list = await agent.tell('do', { name: 'computers.fs', input: { id, op: 'list', path: root } })
  assert.equal(list.error, false, JSON.stringify(list.said))
  const denied = await agent.tell('do', { name: 'computers.fs', input: { id, op: 'mkdir', path: at('agents') } })
  assert.deepEqual([denied.error, denied.said.error.code], [true, 'capability_denied'])
  await alice.delete(`/workspaces/${team}/members/${bob.id}`)
  assert.deepEqual(code(await bob.get(downloadPath(at('shared.txt')))), [404, undefined])
})

test('downloads support ranges and ETags', async () => {
  const bytes = randomBytes(300_000)
  writeFileSync(at('part.bin'), bytes)
  const whole = await get(alice, at('part.bin'))
  assert.deepEqual(
    [whole.status, whole.headers.get('content-length'), whole.headers.get('content-disposition')],
    [200, '300000', 'attachment; filename="part.bin"'],
  )
  assert.equal(sha(Buffer.from(await whole.arrayBuffer())), sha(bytes))
  const etag = whole.headers.get('etag')!
  const part = await get(alice, at('part.bin'), { range: 'bytes=100000-199999', 'if-range': etag })
  assert.deepEqual([part.status, part.headers.get('content-range')], [206, 'bytes 100000-199999/300000'])
  assert.equal(sha(Buffer.from(await part.arrayBuffer())), sha(bytes.subarray(100_000, 200_000)))
  assert.equal((await get(alice, at('part.bin'), { 'if-none-match': etag })).status, 304)
  const beyond = await get(alice, at('part.bin'), { range: 'bytes=300000-' })
  assert.deepEqual([beyond.status, beyond.headers.get('content-range')], [416, 'bytes */300000'])
  const head = await get(alice, at('part.bin'), {}, '', 'HEAD')
  assert.deepEqual([head.status, head.headers.get('content-length'), await head.text()], [200, '300000', ''])
  writeFileSync(at('part.bin'), 'changed')
  const changed = await get(alice, at('part.bin'), { range: 'bytes=3-', 'if-range': etag })
  assert.deepEqual([changed.status, await changed.text()], [200, 'changed'])
  writeFileSync(at('empty'), '')
  assert.equal(await (await get(alice, at('empty'))).text(), '')
  assert.equal((await alice.get(downloadPath(at('nothing')))).status, 404)
  const folder = await alice.get(downloadPath(root))
  assert.deepEqual([folder.status, folder.body.error.param], [400, 'path'])
  mkdirSync(at('packed'))
  writeFileSync(at('packed/one.txt'), 'one')
  const zip = await get(alice, at('packed'), {}, '&archive=zip')
  assert.match(zip.headers.get('content-disposition')!, /packed\.zip/)
  assert.equal(
    Buffer.from(await zip.arrayBuffer())
      .subarray(0, 2)
      .toString(),
    'PK',
  )
  const tar = Buffer.from(await (await get(alice, at('packed'), {}, '&archive=tar')).arrayBuffer())
  assert.ok(tar.includes('one.txt') && tar.length % 512 === 0)
  assert.deepEqual([(await get(alice, at('packed'), {}, '&archive=tar', 'HEAD')).status], [200])
  assert.deepEqual(code(await alice.get(downloadPath('/dev/zero'))), [403, 'capability_denied'])
})

test('an upload appears once it is complete and replaces files only as requested', async () => {
  const response = await upload(alice, at('new.txt'), 'hello')
  assert.deepEqual([response.status, response.body.data.size_bytes, response.body.data.type], [201, 5, 'file'])
  assert.deepEqual(code(await upload(alice, at('new.txt'), 'again')), [409, 'already_exists'])
  assert.equal((await upload(alice, at('new.txt'), 'again', {}, '&overwrite=true')).status, 201)
  assert.equal(readFileSync(at('new.txt'), 'utf8'), 'again')
  assert.deepEqual(code(await upload(alice, at('nowhere/new.txt'), 'x')), [404, undefined])
  const first = await upload(alice, at('parts.txt'), 'abc', { 'content-range': 'bytes 0-2/6' })
  assert.deepEqual(
    [first.status, first.body.data, first.headers.get('upload-offset')],
    [202, { path: at('parts.txt'), offset: 3 }, '3'],
  )
  const wrong = await upload(alice, at('parts.txt'), 'f', { 'content-range': 'bytes 5-5/6' })
  assert.deepEqual([...code(wrong), wrong.body.error.details.offset], [409, 'stale_update', 3])
  const head = await alice.request('HEAD', uploadPath(at('parts.txt')))
  assert.equal(head.headers.get('upload-offset'), '3')
  assert.equal((await upload(alice, at('parts.txt'), 'def', { 'content-range': 'bytes 3-5/6' })).status, 201)
  assert.equal(readFileSync(at('parts.txt'), 'utf8'), 'abcdef')
  for (const range of ['bytes 3-2/6', 'bytes 0-9/3', 'lines 0-1/2', 'bytes 0-9/10', 'nonsense'])
    assert.deepEqual(code(await upload(alice, at('bad'), 'abc', { 'content-range': range })), [
      400,
      'invalid_parameter',
    ])
  const full = await upload(alice, at('huge'), 'abc', { 'content-range': 'bytes 0-2/900000000000000' })
  assert.deepEqual(code(full), [507, undefined])
  assert.ok(full.body.error.details.free_bytes >= 0 && full.body.error.details.needed_bytes === 900_000_000_000_000)
  assert.deepEqual(code(await alice.post(`/computers/${id}/fs/upload`, { path: at('x') })), [400, 'missing_parameter'])
})

test('a complete upload is finished without a body, resumes only with its tag, and keeps mode and time', async () => {
  const part = await upload(alice, at('ended.txt'), 'abc', { 'content-range': 'bytes 0-2/*' }, '&tag=one')
  assert.deepEqual([part.status, part.body.data.offset], [202, 3])
  const offset = async (more: string) => (await alice.get(uploadPath(at('ended.txt'), more))).body.data.offset
  assert.deepEqual([await offset('&tag=one'), await offset('&tag=two'), await offset('')], [3, 0, 0])
  const about = '&tag=one&mode=480&modified_at=2020-02-03T04:05:06.789Z'
  const body = await upload(alice, at('ended.txt'), 'x', { 'content-range': 'bytes */3' }, about)
  assert.deepEqual([...code(body), body.body.error.param], [400, 'invalid_parameter', 'Content-Range'])
  const short = await upload(alice, at('ended.txt'), '', { 'content-range': 'bytes */4' }, about)
  assert.deepEqual([...code(short), short.body.error.details.offset], [409, 'stale_update', 3])
  for (const again of [1, 2]) {
    // The caller may have missed the final response.
    const response = await upload(alice, at('ended.txt'), '', { 'content-range': 'bytes */3' }, about)
    assert.deepEqual(
      [response.status, response.body.data?.mode, response.body.data?.modified_at],
      [201, 0o740, '2020-02-03T04:05:06.789Z'],
      `${again}: ${response.text}`,
    )
  }
  assert.equal(readFileSync(at('ended.txt'), 'utf8'), 'abc')
  for (const more of ['&mode=4095', '&mode=x', '&modified_at=yesterday', `&tag=${'x'.repeat(65)}`])
    assert.equal((await upload(alice, at('bad'), 'x', {}, more)).status, 400, more)
})

test('files with names that aren’t UTF-8 are addressed by their listed path everywhere', async () => {
  const folder = Buffer.concat([Buffer.from(at('caf')), Buffer.of(0xe9)])
  mkdirSync(folder)
  writeFileSync(Buffer.concat([folder, Buffer.from('/'), Buffer.of(0xff, 0x41)]), 'latin')
  const rows = (await fs(alice, 'list', root, { limit: 1_000 })).body.data
  const { path: way, name } = rows.find(({ name_base64 }: { name_base64: string | null }) => name_base64 !== null)
  assert.deepEqual([way, name], [`file://${root}/caf%E9`, 'caf\uFFFD'])
  const [row] = (await fs(alice, 'list', way)).body.data
  assert.equal(row.path, `${way}/%FFA`)
  assert.deepEqual((await fs(alice, 'stat', row.path)).body.data, row)
  assert.equal(await (await get(alice, row.path)).text(), 'latin')
  assert.deepEqual(code(await upload(alice, row.path, 'more')), [409, 'already_exists'])
  assert.equal((await upload(alice, row.path, 'more', {}, '&overwrite=true')).body.data.path, row.path)
  const copy = await alice.post('/drive/files', {
    workspace_id: alice.workspaceId,
    computer_source: { computer_id: id, path: row.path },
  })
  assert.deepEqual([copy.status, copy.body.data.name, copy.body.data.size_bytes], [201, '%FFA', 4])
  assert.deepEqual((await fs(alice, 'remove', row.path)).body, { data: { path: row.path, removed: 1 } })
  assert.equal((await fs(alice, 'remove', way, { recursive: true })).body.data.removed, 1)
  for (const path of ['file://host/etc', 'file:etc', `${way}%`, `${way}%2`, 'file:///a%00', 'FILE:///etc'])
    assert.equal((await fs(alice, 'stat', path)).status, 400, path)
  for (const path of ['file:///etc/passwd', `${way}/%2e%2e/%2e%2e/%2e%2e/etc`])
    assert.deepEqual(code(await fs(alice, 'stat', path)), [403, 'capability_denied'], path)
  // The allowed folder itself can be viewed.
  assert.deepEqual((await fs(alice, 'stat', root)).body.data.type, 'folder')
})

test('copying between drive and computer requires permission on both', async () => {
  const bytes = randomBytes(700_000)
  const copy = await alice.post('/drive/files', {
    workspace_id: alice.workspaceId,
    name: 'data.bin',
    content: bytes.toString('base64'),
    encoding: 'base64',
  })
  const drive_source = { file_id: copy.body.data.id }
  const there = await alice.post(`/computers/${id}/fs/upload`, { path: at('data.bin'), drive_source })
  assert.equal(there.status, 201, there.text)
  assert.equal(sha(readFileSync(at('data.bin'))), sha(bytes))
  const computer_source = { computer_id: id, path: at('data.bin') }
  const back = await alice.post('/drive/files', { workspace_id: alice.workspaceId, name: 'back.bin', computer_source })
  assert.deepEqual([back.status, back.body.data.sha256], [201, sha(bytes)], back.text)
  const copyByName = await alice.post('/drive/files', { workspace_id: team, computer_source })
  assert.equal(copyByName.body.data.name, 'data.bin')
  assert.equal((await carol.post('/drive/files', { workspace_id: carol.workspaceId, computer_source })).status, 404)
  const drives = await alice.key({ scopes: ['drive:write', 'drive:read'] })
  assert.deepEqual(
    code(await drives.post('/drive/files', { workspace_id: alice.workspaceId, name: 'no', computer_source })),
    [403, 'missing_scope'],
  )
  const computers = await alice.key({ scopes: ['computer:write', 'computer:read'] })
  assert.deepEqual(code(await computers.post(`/computers/${id}/fs/upload`, { path: at('no'), drive_source })), [
    403,
    'missing_scope',
  ])
})

test('an upload to a symlink writes its target, and never one outside the allowed folders', async () => {
  writeFileSync(at('real.txt'), 'old')
  symlinkSync('real.txt', at('shown.txt'))
  const outside = stack.use(temporaryDir()).path
  writeFileSync(join(outside, 'kept.txt'), 'kept')
  symlinkSync(join(outside, 'kept.txt'), at('way-out.txt'))
  assert.deepEqual(code(await upload(alice, at('shown.txt'), 'new')), [409, 'already_exists'])
  const response = await upload(alice, at('shown.txt'), 'new', {}, '&overwrite=true')
  assert.deepEqual([response.status, response.body.data.path], [201, at('real.txt')], response.text)
  assert.equal(readFileSync(at('real.txt'), 'utf8'), 'new')
  assert.ok(lstatSync(at('shown.txt')).isSymbolicLink())
  const answer = await get(alice, at('shown.txt'))
  assert.match(answer.headers.get('content-disposition')!, /shown\.txt/)
  assert.equal(await answer.text(), 'new')
  for (const overwrite of ['', '&overwrite=true'])
    assert.deepEqual(code(await upload(alice, at('way-out.txt'), 'new', {}, overwrite)), [403, 'capability_denied'])
  assert.equal(readFileSync(join(outside, 'kept.txt'), 'utf8'), 'kept')
})
