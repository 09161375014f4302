import assert from 'node:assert/strict'
import { test } from 'node:test'
import sharp from 'sharp'
import { sweepBlobs } from '#infra/blobs/sweep.ts'
import { upload } from '#test/drive/drive.ts'
import { unzipped } from '#test/drive/unzipped.ts'
import { type Person, type TestServer, testServer } from '#test/server.ts'
import { addUpStorage, storedIn } from '../bytes/storage.ts'
import { PATIENCE_MS } from '#test/until.ts'

const folder = async (who: Person, place: object, name: string): Promise<string> =>
  (await who.post('/drive/files/folders', { ...place, name })).body.data.id
const write = async (who: Person, place: object, name: string, content: string): Promise<string> =>
  (await who.post('/drive/files', { ...place, name, content })).body.data.id
const stored = async (server: TestServer, workspaceId: string): Promise<number> =>
  Number(await storedIn(server.app.engine.postgres.db, workspaceId))

test('a folder downloads as a ZIP with every name and byte in it', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const top = await folder(alice, { workspace_id: alice.workspaceId }, 'Plans')
  const inner = await folder(alice, { parent_id: top }, 'é')
  await folder(alice, { parent_id: top }, 'empty')
  await write(alice, { parent_id: inner }, 'a\\b.txt', 'deep '.repeat(10_000))
  await write(alice, { parent_id: top }, 'none', '')
  await alice.delete(`/drive/files/${await write(alice, { parent_id: top }, 'gone', 'gone')}`)
  const answer = await fetch(`${server.origin}/v1/drive/files/${top}/archive`, { headers: alice.headers })
  assert.deepEqual(
    [answer.headers.get('content-type'), answer.headers.get('content-disposition')],
    ['application/zip', 'attachment; filename="Plans.zip"'],
  )
  const bytes = Buffer.from(await answer.arrayBuffer())
  assert.ok(bytes.length < 2_000, 'text is packed')
  const entries = await unzipped(bytes)
  assert.deepEqual(entries, {
    'Plans/empty/': '',
    'Plans/none': '',
    'Plans/é/': '',
    'Plans/é/a_b.txt': 'deep '.repeat(10_000),
  })
})

test("names that collide in an archive don't overwrite each other, and a trashed folder includes what was trashed with it", async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const top = await folder(alice, { workspace_id: alice.workspaceId }, 'Plans')
  for (const name of ['a\\b.txt', 'a_b.txt', 'a_b (2).txt', 'c\\d']) await write(alice, { parent_id: top }, name, name)
  await folder(alice, { parent_id: top }, 'c_d')
  const before = await write(alice, { parent_id: top }, 'before.txt', 'went alone')
  const archive = async () => {
    const answer = await fetch(`${server.origin}/v1/drive/files/${top}/archive`, { headers: alice.headers })
    assert.equal(answer.status, 200)
    return await unzipped(Buffer.from(await answer.arrayBuffer()))
  }
  await alice.delete(`/drive/files/${before}`)
  const whole = {
    'Plans/a_b (2).txt': 'a_b (2).txt',
    'Plans/a_b (3).txt': 'a_b.txt',
    'Plans/a_b.txt': 'a\\b.txt',
    'Plans/c_d (2)': 'c\\d',
    'Plans/c_d/': '',
  }
  assert.deepEqual(await archive(), whole)
  await alice.delete(`/drive/files/${top}`)
  assert.deepEqual(await archive(), whole)
})

test('a folder copied to another workspace is independent, and other users can copy neither', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const bob = await server.person('Bob')
  const team = (await alice.post('/workspaces', { name: 'Team' })).body.data.id
  const top = await folder(alice, { workspace_id: alice.workspaceId }, 'Plans')
  const inner = await folder(alice, { parent_id: top }, 'Q1')
  const file = await write(alice, { parent_id: inner }, 'a.txt', 'one')
  const response = await alice.post(`/drive/files/${top}/copy`, { workspace_id: team })
  assert.deepEqual(
    [response.status, response.body.data.workspace_id, response.body.data.path],
    [201, team, 'Plans'],
    response.text,
  )
  const again = await alice.post(`/drive/files/${top}/copy`, { workspace_id: team })
  assert.equal(again.body.data.name, 'Plans (2)')
  await alice.patch(`/drive/files/${file}`, { content: 'two' })
  const copies = (await alice.get(`/drive/files?workspace_id=${team}&kind=file`)).body.data
  assert.deepEqual(copies.map(({ path }: { path: string }) => path).sort(), ['Plans (2)/Q1/a.txt', 'Plans/Q1/a.txt'])
  for (const copy of copies) assert.equal((await alice.get(`/drive/files/${copy.id}`)).text, 'one')
  assert.equal((await bob.post(`/drive/files/${top}/copy`, { workspace_id: bob.workspaceId })).status, 404)
  assert.equal((await alice.post(`/drive/files/${top}/copy`, { workspace_id: bob.workspaceId })).status, 404)

  assert.deepEqual([await stored(server, team), await stored(server, alice.workspaceId)], [6, 6])
  await addUpStorage(server.app.engine)
  assert.equal(await stored(server, team), 6)
  assert.equal((await alice.delete(`/workspaces/${team}?confirm=Team`)).status, 200)
  assert.equal((await alice.get(`/drive/files/${copies[0].id}`)).status, 404)
  await addUpStorage(server.app.engine)
  assert.equal(await stored(server, team), 0)
  await alice.delete(`/drive/files/${top}`)
  await alice.delete(`/drive/files/${top}/permanent-delete`)
  assert.equal(await stored(server, alice.workspaceId), 0)
  assert.equal((await sweepBlobs(server.app.engine, { graceMinutes: 0, strayMinutes: 0 })).unreferenced, 2)
})

test('a workspace’s storage limit holds, also against concurrent writers', async () => {
  await using server = await testServer({ environment: { UK_LIMIT_STORAGE_BYTES: '1000', UK_LIMIT_FILE_BYTES: '600' } })
  const alice = await server.person('Alice')
  const put = (name: string, size: number) =>
    upload(alice, { workspace_id: alice.workspaceId }, Buffer.alloc(size, name), name)
  const large = await put('l', 601)
  assert.deepEqual([large.status, large.body.error.details.limit_bytes], [413, 600], large.text)
  const answers = await Promise.all(Array.from({ length: 6 }, (_, i) => put(`${i}`, 300)))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 201, 201, 507, 507, 507])
  const full = answers.find(({ status }) => status === 507)!
  assert.deepEqual([full.body.error.type, full.body.error.details.limit_bytes], ['storage_full', 1_000])
  const fileId = answers.find(({ status }) => status === 201)!.body.data.id
  assert.equal((await alice.patch(`/drive/files/${fileId}`, { content: 'x'.repeat(101) })).status, 507)
  assert.equal((await alice.patch(`/drive/files/${fileId}`, { content: 'x'.repeat(50) })).status, 200)
  assert.equal((await alice.post(`/drive/files/${fileId}/content-versions/restore`, { version: 1 })).status, 507)
  assert.equal((await alice.post(`/drive/files/${fileId}/copy`, { workspace_id: alice.workspaceId })).status, 201)
  assert.equal((await alice.post(`/drive/files/${fileId}/copy`, { workspace_id: alice.workspaceId })).status, 507)
  const team = (await alice.post('/workspaces', { name: 'Team' })).body.data.id
  const inbox = await folder(alice, { workspace_id: team }, 'inbox')
  for (const size of [400, 400])
    await alice.post('/drive/files', { workspace_id: team, name: `${Math.random()}`, content: 'y'.repeat(size) })
  const over = await alice.post(`/drive/files/${fileId}/move`, { parent_id: inbox })
  assert.equal(over.status, 507, 'its versions come along')
  await alice.delete(`/drive/files/${fileId}`)
  assert.equal((await put('trash counts', 101)).status, 507)
  await alice.delete(`/drive/files/${fileId}/permanent-delete`)
  assert.equal((await put('room again', 101)).status, 201)
})

test('an image has a thumbnail, and other files are rejected without harm', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const picture = await sharp({ create: { width: 900, height: 600, channels: 3, background: '#369' } })
    .png()
    .toBuffer()
  const put = async (bytes: Buffer, name: string) =>
    (await upload(alice, { workspace_id: alice.workspaceId }, bytes, name)).body.data.id
  const at = `${server.origin}/v1/drive/files/${await put(picture, 'a.png')}/thumbnail`
  const answer = await fetch(`${at}?size=128`, { headers: alice.headers })
  assert.equal(answer.headers.get('content-type'), 'image/webp')
  const { width, height } = await sharp(Buffer.from(await answer.arrayBuffer())).metadata()
  assert.deepEqual([width, height], [128, 85])
  const etag = answer.headers.get('etag')!
  const same = await fetch(`${at}?size=128`, { headers: { ...alice.headers, 'if-none-match': etag } })
  assert.equal(same.status, 304)
  // Says that it is 50,000 × 50,000, and is not.
  const bomb = Buffer.from(picture)
  bomb.writeUInt32BE(50_000, 16)
  bomb.writeUInt32BE(50_000, 20)
  for (const [bytes, name] of [
    [bomb, 'bomb.png'],
    [Buffer.from('text'), 'a.txt'],
    [Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), 'a.svg'],
  ] as const) {
    const refused = await alice.get(`/drive/files/${await put(bytes, name)}/thumbnail`)
    assert.deepEqual([refused.status, refused.body?.error.type], [415, 'unsupported_media_type'], name)
  }
})

test('up to sixty thumbnails of an account are queued, and abandoned ones aren’t created', async () => {
  await using server = await testServer({ environment: { UK_LIMIT_READS: '0', UK_LIMIT_WRITES: '0' } })
  const alice = await server.person('Alice')
  const ids: string[] = []
  for (let i = 0; i < 28; i++) {
    const picture = await sharp({
      create: { width: 2_400, height: 1_800, channels: 3, background: { r: i, g: 0, b: 0 } },
    })
      .png()
      .toBuffer()
    ids.push((await upload(alice, { workspace_id: alice.workspaceId }, picture, `${i}.png`)).body.data.id)
  }
  const leaving = new AbortController()
  const refused: number[] = []
  const ask = async (id: string, size: number, signal: AbortSignal | null) => {
    const answer = await fetch(`${server.origin}/v1/drive/files/${id}/thumbnail?size=${size}`, {
      headers: alice.headers,
      signal,
    })
    await answer.arrayBuffer()
    if (answer.status === 503) refused.push(size)
    return answer.status
  }
  const all = ids.flatMap((id) => [128, 256, 512, 1024].map((size) => ask(id, size, leaving.signal).catch(() => 0)))
  const until = Date.now() + PATIENCE_MS
  while (refused.length < 5 && Date.now() < until) await new Promise((go) => setTimeout(go, 5))
  leaving.abort()
  await Promise.all(all)
  assert.ok(refused.length >= 5, `${refused.length} of 112 were refused`)
  const thumbnailCount = async () => {
    const { rows } = await server.app.engine.postgres.pool.query<{ n: number }>(
      'select count(*)::int n from thumbnails',
    )
    return rows[0]!.n
  }
  // The same ten times, behind all those that were left: it is made, and they are not.
  assert.deepEqual(
    new Set(await Promise.all(Array.from({ length: 10 }, () => ask(ids[27]!, 1024, null)))),
    new Set([200]),
  )
  assert.ok((await thumbnailCount()) < 50, `${await thumbnailCount()} were made`)
})
