import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sweepBlobs } from '#infra/blobs/sweep.ts'
import { emptyTrash } from '#authz/lifecycle.ts'
import { upload } from '#test/drive/drive.ts'
import { type Caller, type Person, testServer } from '#test/server.ts'
import { storedIn } from '../bytes/storage.ts'

const folder = async (who: Caller, place: object, name: string): Promise<{ id: string; path: string }> =>
  (await who.post('/drive/files/folders', { ...place, name })).body.data
const write = async (who: Caller, place: object, name: string, content = name): Promise<{ id: string }> =>
  (await who.post('/drive/files', { ...place, name, content })).body.data
const paths = async (who: Person, query = ''): Promise<string[]> =>
  (await who.get(`/drive/files?limit=100${query}`)).body.data.map(({ path }: { path: string }) => path).sort()

test('restoring a folder restores exactly what was trashed with it', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const at = { workspace_id: alice.workspaceId }
  const plans = await folder(alice, at, 'Plans')
  const inner = await folder(alice, { parent_id: plans.id }, '2027')
  const old = await write(alice, { parent_id: plans.id }, 'old.md')
  const file = await write(alice, { parent_id: inner.id }, 'a.md')
  await alice.delete(`/drive/files/${old.id}`)
  const deletion = await alice.delete(`/drive/files/${plans.id}`)
  assert.deepEqual(deletion.body, { deleted: true, id: plans.id })
  assert.deepEqual((await alice.delete(`/drive/files/${plans.id}`)).body, deletion.body, 'once more changes nothing')
  assert.deepEqual(await paths(alice), [])
  assert.deepEqual(await paths(alice, '&status=trashed'), ['Plans', 'Plans/old.md'])
  assert.deepEqual(await paths(alice, `&status=trashed&parent_id=${inner.id}`), ['Plans/2027/a.md'])
  for (const refused of [
    await alice.patch(`/drive/files/${file.id}`, { content: 'x' }),
    await alice.post(`/drive/files/${file.id}/move`, { parent_id: null }),
    await alice.post('/drive/files', { parent_id: inner.id, name: 'b', content: 'b' }),
    await alice.post(`/drive/files/${file.id}/signed-url`, {}),
  ])
    assert.deepEqual([refused.status, refused.body.error.code], [409, 'invalid_state'], refused.text)

  // The name is free meanwhile, and taken when the folder comes back.
  await write(alice, at, 'Plans')
  const back = await alice.post(`/drive/files/${plans.id}/restore`)
  assert.deepEqual([back.status, back.body.data.name, back.body.data.status], [200, 'Plans (2)', 'active'], back.text)
  assert.deepEqual(await paths(alice), ['Plans', 'Plans (2)', 'Plans (2)/2027', 'Plans (2)/2027/a.md'])
  assert.equal((await alice.get(`/drive/files/${file.id}`)).text, 'a.md')
  const older = await alice.post(`/drive/files/${old.id}/restore`)
  assert.equal(older.body.data.path, 'Plans (2)/old.md', 'its folder is there again')

  await alice.delete(`/drive/files/${file.id}`)
  await alice.delete(`/drive/files/${plans.id}`)
  assert.equal((await alice.delete(`/drive/files/${plans.id}/permanent-delete`)).status, 200)
  assert.equal((await alice.get(`/drive/files/${inner.id}/metadata`)).status, 404)
  const orphan = await alice.post(`/drive/files/${file.id}/restore`)
  assert.deepEqual(
    [orphan.body.data.path, orphan.body.data.parent_id],
    ['a.md', null],
    'its folder is gone: to the root',
  )
  const active = await alice.delete(`/drive/files/${file.id}/permanent-delete`)
  assert.deepEqual([active.status, active.body.error.code], [409, 'invalid_state'])
})

test('after thirty days in the trash a folder is deleted with its contents, but not items trashed from it separately', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const { engine } = server.app
  const plans = await folder(alice, { workspace_id: alice.workspaceId }, 'Plans')
  await write(alice, { parent_id: plans.id }, 'a.md', 'one')
  const late = await write(alice, { parent_id: plans.id }, 'late.md', 'later')
  await alice.delete(`/drive/files/${late.id}`)
  await alice.delete(`/drive/files/${plans.id}`)
  await engine.postgres.pool.query(
    "update resources set trashed_at = now() - interval '30 days 1 minute' where kind = 'file' and id <> $1 and status = 'trashed'",
    [late.id],
  )
  assert.equal(await emptyTrash(engine), 2)
  assert.deepEqual(await paths(alice, '&status=trashed'), ['Plans/late.md'])
  await sweepBlobs(engine, { graceMinutes: 0, strayMinutes: 0 })
  const back = await alice.post(`/drive/files/${late.id}/restore`)
  assert.deepEqual([back.body.data.path, (await alice.get(`/drive/files/${late.id}`)).text], ['late.md', 'later'])
  assert.equal(Number(await storedIn(engine.postgres.db, alice.workspaceId)), 5, 'what is gone takes no room')
})

test('folders move with their contents, never into themselves or onto an existing name', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const bob = await server.person('Bob')
  const at = { workspace_id: alice.workspaceId }
  const a = await folder(alice, at, 'a')
  const b = await folder(alice, { parent_id: a.id }, 'b')
  const c = await folder(alice, { parent_id: b.id }, 'c')
  await write(alice, { parent_id: c.id }, 'deep.txt')
  for (const parent_id of [a.id, b.id, c.id]) {
    const ring = await alice.post(`/drive/files/${a.id}/move`, { parent_id })
    assert.deepEqual([ring.status, ring.body.error.param], [400, 'parent_id'], ring.text)
  }
  const response = await alice.post(`/drive/files/${b.id}/move`, { parent_id: null })
  assert.deepEqual(
    [response.status, response.body.data.path, response.body.data.parent_id],
    [200, 'b', null],
    response.text,
  )
  assert.deepEqual(await paths(alice), ['a', 'b', 'b/c', 'b/c/deep.txt'])
  const renamed = await alice.patch(`/drive/files/${b.id}`, { name: 'B' })
  assert.equal(renamed.body.data.path, 'B')
  assert.deepEqual(await paths(alice), ['B', 'B/c', 'B/c/deep.txt', 'a'])
  const other = await folder(alice, { parent_id: a.id }, 'B')
  const clash = await alice.post(`/drive/files/${b.id}/move`, { parent_id: a.id })
  assert.deepEqual(
    [clash.status, clash.body.error.code, clash.body.error.details.id],
    [409, 'already_exists', other.id],
    clash.text,
  )
  assert.deepEqual(await paths(alice), ['B', 'B/c', 'B/c/deep.txt', 'a', 'a/B'], 'nothing happened')
  const hers = await folder(bob, { workspace_id: bob.workspaceId }, 'mine')
  assert.equal((await alice.post(`/drive/files/${b.id}/move`, { parent_id: hers.id })).status, 404)

  const team = (await alice.post('/workspaces', { name: 'Team' })).body.data
  const there = await folder(alice, { workspace_id: team.id }, 'inbox')
  const crossed = await alice.post(`/drive/files/${b.id}/move`, { parent_id: there.id })
  assert.deepEqual([crossed.body.data.workspace_id, crossed.body.data.path], [team.id, 'inbox/B'], crossed.text)
  assert.deepEqual(await paths(alice, `&workspace_id=${team.id}`), [
    'inbox',
    'inbox/B',
    'inbox/B/c',
    'inbox/B/c/deep.txt',
  ])
  const toRoot = (workspace_id: string) => alice.post(`/drive/files/${b.id}/move`, { parent_id: null, workspace_id })
  assert.equal((await toRoot(bob.workspaceId)).status, 404)
  const home = await toRoot(alice.workspaceId)
  assert.deepEqual([home.body.data.workspace_id, home.body.data.path], [alice.workspaceId, 'B'], home.text)
  assert.deepEqual(await paths(alice, `&workspace_id=${team.id}`), ['inbox'])
})

test('two folders moved into each other at the same time never form a cycle', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const at = { workspace_id: alice.workspaceId }
  for (let round = 0; round < 5; round++) {
    const one = await folder(alice, at, `one ${round}`)
    const two = await folder(alice, at, `two ${round}`)
    const into = (what: { id: string }, where: { id: string }) =>
      alice.post(`/drive/files/${what.id}/move`, { parent_id: where.id })
    const answers = await Promise.all([into(one, two), into(two, one)])
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 400])
  }
})

test('of concurrent edits based on the same state one succeeds, and the others get the current state', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const key = await alice.key({ scopes: ['drive:write'] })
  const made = (await alice.post('/drive/files', { workspace_id: alice.workspaceId, name: 'n.txt', content: '0' })).body
    .data
  const at = `/drive/files/${made.id}`
  let expected = made.content_updated_at
  let rounds = 0
  for (; rounds < 5; rounds++) {
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, i) => key.patch(at, { content: `${rounds}/${i}`, expected_updated_at: expected })),
    )
    const winners = answers.filter(({ status }) => status === 200)
    assert.equal(winners.length, 1, answers.map(({ text }) => text).join('\n'))
    const present = winners[0]!.body.data
    for (const loser of answers.filter((answer) => answer !== winners[0])) {
      assert.deepEqual([loser.status, loser.body.error.code], [409, 'stale_update'])
      assert.equal(loser.body.error.details.content_updated_at, present.content_updated_at)
      assert.equal(loser.body.error.details.sha256, present.sha256)
    }
    expected = present.content_updated_at
  }
  // A rename doesn't conflict with an edit; a name change is checked against `updated_at`.
  const renamed = (await key.patch(at, { name: 'm.txt' })).body.data
  const content = await key.patch(at, { content: 'after', expected_updated_at: expected })
  assert.equal(content.status, 200, content.text)
  const name = await key.patch(at, { name: 'o.txt', expected_updated_at: renamed.updated_at })
  assert.deepEqual([name.status, name.body.error.code], [409, 'stale_update'])
  const etag = (await key.get(at)).headers.get('etag')!
  assert.equal((await key.patch(at, { content: 'x' }, { 'if-match': '"old"' })).status, 412)
  const currentEtag = (await key.get(`${at}/metadata`)).headers.get('etag')!
  assert.equal((await key.patch(at, { content: 'x' }, { 'if-match': etag })).status, 200)
  assert.equal((await key.patch(at, { name: 'p.txt' }, { 'if-match': currentEtag })).status, 412)
  const plans = await folder(alice, { workspace_id: alice.workspaceId }, 'Plans')
  const tag = (await key.get(`/drive/files/${plans.id}/metadata`)).headers.get('etag')!
  assert.equal((await key.patch(`/drive/files/${plans.id}`, { name: 'Q1' }, { 'if-match': tag })).status, 200)
  assert.equal((await key.delete(`/drive/files/${plans.id}`, undefined, { 'if-match': tag })).status, 412)
})

test('every earlier version of a file can be read and restored', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const made = (await alice.post('/drive/files', { workspace_id: alice.workspaceId, name: 'n.txt', content: 'one' }))
    .body.data
  const at = `/drive/files/${made.id}`
  await alice.patch(at, { content: 'dHdv', encoding: 'base64' })
  const same = await alice.patch(at, { content: 'two' })
  assert.equal(same.body.data.content_version, 2, 'the same bytes are no version')
  await alice.patch(at, { content: 'three' })
  const list = await alice.get(`${at}/content-versions?limit=2`)
  assert.deepEqual(
    list.body.data.map((row: { version: number; current: boolean }) => [row.version, row.current]),
    [
      [3, true],
      [2, false],
    ],
  )
  const rest = await alice.get(`${at}/content-versions?cursor=${list.body.pagination.next_cursor}`)
  assert.deepEqual(
    rest.body.data.map((row: { version: number }) => row.version),
    [1],
  )
  assert.equal((await alice.get(`${at}?version=1`)).text, 'one')
  const back = await alice.post(`${at}/content-versions/restore`, { version: 1 })
  assert.deepEqual([back.status, back.body.data.content_version], [200, 4], back.text)
  assert.equal((await alice.get(at)).text, 'one')
  const newest = (await alice.get(`${at}/content-versions?limit=1`)).body.data[0]
  assert.equal(newest.restored_from, 1)
  const stale = await alice.post(`${at}/content-versions/restore`, {
    version: 2,
    expected_updated_at: made.content_updated_at,
  })
  assert.deepEqual([stale.status, stale.body.error.code], [409, 'stale_update'])
  const none = await alice.post(`${at}/content-versions/restore`, { version: 9 })
  assert.deepEqual([none.status, none.body.error.param], [404, 'version'])
})

test('a link gives read access until it expires, is used, or the file is trashed', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const { data: file } = (await upload(alice, { workspace_id: alice.workspaceId }, Buffer.from('bytes'), 'ä b.txt'))
    .body
  const at = `/drive/files/${file.id}`
  const mint = async (more: object = {}) => new URL((await alice.post(`${at}/signed-url`, more)).body.data.url)
  const read = (url: URL, method = 'GET') => server.stranger.request(method, url.pathname + url.search)
  const url = await mint()
  assert.equal(url.origin, server.origin)
  const response = await read(url)
  assert.deepEqual([response.status, response.text], [200, 'bytes'], response.text)
  assert.match(response.headers.get('x-request-id') ?? '', /^[0-9A-Z]{26}$/)
  assert.equal((await read(url, 'POST')).status, 405)
  for (const [name, value] of [
    ['expires', String(Number(url.searchParams.get('expires')) + 9)],
    ['disposition', 'attachment'],
    ['signature', 'AAAA'],
    ['once', file.id],
  ] as const) {
    const forged = new URL(url)
    forged.searchParams.set(name, value)
    assert.deepEqual([(await read(forged)).status, (await read(forged)).body.error.code], [401, 'invalid_signature'])
  }
  const elsewhere = await upload(alice, { workspace_id: alice.workspaceId }, Buffer.from('other'), 'other')
  const forged = new URL(url.href.replace(file.id, elsewhere.body.data.id))
  assert.equal((await read(forged)).status, 401)
  const once = await mint({ single_use: true, disposition: 'attachment' })
  assert.equal((await read(once, 'HEAD')).status, 200)
  const first = await read(once)
  assert.match(
    first.headers.get('content-disposition')!,
    /^attachment; filename="_ b.txt"; filename\*=UTF-8''%C3%A4%20b.txt$/,
  )
  assert.deepEqual([first.status, (await read(once)).body.error.code], [200, 'link_expired'])
  const short = await mint({ expires_in_seconds: 1 })
  while (Date.now() < Number(short.searchParams.get('expires')) * 1000) await new Promise((go) => setTimeout(go, 100))
  assert.deepEqual([(await read(short)).status, (await read(short)).body.error.code], [410, 'link_expired'])
  await alice.delete(at)
  assert.equal((await read(url)).status, 401)
  await alice.post(`${at}/restore`)
  assert.equal((await read(url)).status, 401, 'trashing it ended the link')

  const fresh = await mint()
  await using rotated = await testServer({
    database: server.database,
    rootKeys: ['another root key, newer, of 32 characters', 'a root key of the tests, 32 characters or more'],
  })
  const after = await rotated.stranger.get(fresh.pathname + fresh.search)
  assert.equal(after.status, 401, 'and so did another root key')
})
