import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { testServer } from '#test/server.ts'
import { fileStore } from '../store.ts'

test('an owner sees a file with its parent folders and full access, a grantee sees them from the share on, and others get 404', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const bob = await server.person('Bob')
  const carol = await server.person('Carol')
  const made = async (path: string, body: object) => (await alice.post(path, body)).body.data
  const outer = await made('/drive/files/folders', { workspace_id: alice.workspaceId, name: 'Outer' })
  const inner = await made('/drive/files/folders', { parent_id: outer.id, name: 'Inner' })
  const file = await made('/drive/files', { parent_id: inner.id, name: 'a.txt', content: 'one' })
  const at = `/v1/app/drive/files/${file.id}`
  const shownTo = async (who: typeof alice) => {
    const { status, body } = await who.get(at)
    return status === 200
      ? [body.data.access, ...body.data.ancestors.map(({ name }: { name: string }) => name)]
      : status
  }
  assert.deepEqual(await shownTo(alice), ['all', 'Outer', 'Inner'])
  assert.deepEqual(
    (await alice.get(at)).body.data.file,
    (await alice.get(`/drive/files/${file.id}/metadata`)).body.data,
  )
  assert.equal(await shownTo(bob), 404)

  const shared = await alice.post('/shares', {
    resource_type: 'folder',
    resource_id: inner.id,
    grantee: { email: bob.email },
  })
  await bob.post('/invitations/accept', { token: shared.body.data.token })
  assert.deepEqual(await shownTo(bob), ['view', 'Inner'])
  await alice.patch('/shares', { share_id: shared.body.data.id, access: 'edit' })
  assert.deepEqual(await shownTo(bob), ['edit', 'Inner'])
  assert.equal(await shownTo(carol), 404)

  const rows = (who: typeof alice, query: string) => who.get(`/v1/app/drive/rows?${query}`)
  assert.deepEqual(
    (await rows(bob, `parent_id=${inner.id}`)).body.data.files,
    (await rows(alice, `parent_id=${inner.id}`)).body.data.files,
  )
  assert.equal((await rows(bob, `parent_id=${outer.id}`)).status, 404)
  assert.equal((await rows(bob, `workspace_id=${alice.workspaceId}`)).status, 404)
  assert.equal((await rows(alice, `parent_id=${file.id}`)).body.error.param, 'parent_id')
  assert.deepEqual(
    (await rows(alice, '')).body.data.files.map(({ name }: { name: string }) => name),
    ['Outer'],
  )
  const note = (await made('/drive/files', { workspace_id: alice.workspaceId, name: 'b.txt', content: 'two' })).id
  await alice.patch(`/drive/files/${file.id}`, { content: 'three' })
  const latest = async (who: typeof alice, query = '') => {
    const { body } = await who.get(`/v1/app/drive/latest?limit=1${query}`)
    return [body.data.map(({ id }: { id: string }) => id), body.pagination.next_cursor]
  }
  const [changed, cursor] = await latest(alice)
  assert.deepEqual(changed, [file.id], 'what was changed comes before what is newer')
  assert.deepEqual(await latest(alice, `&cursor=${cursor}`), [[note], null])
  assert.deepEqual(await latest(bob), [[], null], 'what is shared is listed where it is shared')
  const [mark, , id] = JSON.parse(Buffer.from(cursor, 'base64url').toString())
  for (const moment of ['-271821-04-20T00:00:00.000Z', 'lately']) {
    const forgedCursor = Buffer.from(JSON.stringify([mark, moment, id])).toString('base64url')
    const { status, body } = await alice.get(`/v1/app/drive/latest?cursor=${forgedCursor}`)
    assert.deepEqual([status, body.error.code], [400, 'invalid_cursor'], moment)
  }
  // It reads a page from an index, not a drive of any size.
  await server.app.engine.postgres.db.transaction().execute(async (db) => {
    for (const way of ['seqscan', 'sort', 'bitmapscan'])
      await sql`select set_config(${`enable_${way}`}, 'off', true)`.execute(db)
    const scans = async () =>
      (await sql<{ n: number }>`select pg_stat_get_xact_numscans('files_latest'::regclass)::int as n`.execute(db)).rows
    const [before] = await scans()
    await fileStore.latest(db, { workspaces: [alice.workspaceId], after: null, limit: 1 })
    const [after] = await scans()
    assert.ok(after!.n > before!.n)
  })
  await alice.delete(`/drive/files/${note}`)
  await alice.delete(`/drive/files/${outer.id}`)
  assert.deepEqual(await shownTo(alice), ['all', 'Outer', 'Inner'])
  assert.equal(await shownTo(bob), 404)
})

test('a long folder is listed in a few calls, each file once', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const { db } = server.app.engine.postgres
  const first = (await alice.post('/drive/files', { workspace_id: alice.workspaceId, name: 'a', content: '1' })).body
    .data
  const { sql } = await import('kysely')
  const many = 4_100
  // As many rows as the folder is long, made at once.
  await sql`with made as (insert into resources (id, kind, workspace_id, created_by)
      select '01' || upper(lpad(to_hex(n), 24, '0')), 'file', ${alice.workspaceId}, ${alice.id}
      from generate_series(1, ${many}) n returning id)
    insert into files (id, workspace_id, kind, name, path, ancestors, mime_type, size_bytes, sha256, content_version, content_updated_at)
    select m.id, f.workspace_id, 'file', m.id, m.id, '{}', f.mime_type, f.size_bytes, f.sha256, 1, f.content_updated_at
    from made m, files f where f.id = ${first.id}`.execute(db)
  const ids: string[] = []
  let calls = 0
  for (let before: string | null = ''; before !== null; calls++) {
    const { data }: { data: { files: { id: string }[]; next: string | null } } = (
      await alice.get(`/v1/app/drive/rows?workspace_id=${alice.workspaceId}${before === '' ? '' : `&before=${before}`}`)
    ).body
    ids.push(...data.files.map(({ id }) => id))
    before = data.next
  }
  assert.deepEqual([ids.length, new Set(ids).size, calls], [many + 1, many + 1, 3])
})
