import assert from 'node:assert/strict'
import { sql } from 'kysely'
import { after, before, test } from 'node:test'
import { type Person, type TestServer, testServer } from '#test/server.ts'
import { join } from '#test/workspaces/team.ts'

let server: TestServer
let alice: Person
let bob: Person
before(async () => {
  server = await testServer()
  alice = await server.person('Alice')
  bob = await server.person('Bob')
})
after(() => server[Symbol.asyncDispose]())

type Key = Awaited<ReturnType<Person['key']>>
interface Maker {
  key: Key
  /** `/workspaces/{id}/members/{bob}` */
  place: string
  file: string
}

const read = async (url: string) => {
  const { status, text } = await server.stranger.get(new URL(url).pathname + new URL(url).search)
  return [status, text]
}
const sign = async (by: Pick<Person, 'post'>, file: string): Promise<string> => {
  const answer = await by.post(`/drive/files/${file}/signed-url`, {})
  assert.ok(answer.status < 300, answer.text)
  return answer.body.data.url
}

/** What may happen to a link's creator, and whether links signed in a session and with a key still work. */
const fates: Record<string, { session: boolean; key: boolean; befall: (maker: Maker) => Promise<unknown> }> = {
  'keeps everything': { session: true, key: true, befall: async () => {} },
  'becomes a viewer': { session: true, key: true, befall: ({ place }) => alice.patch(place, { role: 'viewer' }) },
  'is removed from the workspace': { session: false, key: false, befall: ({ place }) => alice.delete(place) },
  'may no longer read the drive': {
    session: false,
    key: false,
    befall: ({ place }) => alice.patch(place, { permissions: ['chat:read'] }),
  },
  'revokes the key': { session: true, key: false, befall: ({ key }) => bob.delete(`/api-keys/${key.keyId}`) },
  'rotates the key': {
    session: true,
    key: false,
    befall: ({ key }) => bob.post(`/api-keys/${key.keyId}/rotate`, {}),
  },
  'rotates the key with an overlap': {
    session: true,
    key: true,
    befall: ({ key }) => bob.post(`/api-keys/${key.keyId}/rotate`, { overlap_seconds: 3_600 }),
  },
  'lets the key expire': {
    session: true,
    key: false,
    befall: ({ key }) =>
      sql`update api_keys set expires_at = now() - interval '1 second' where id = ${key.keyId}`.execute(
        server.app.engine.postgres.db,
      ),
  },
  'sees the file moved to a workspace of another account': {
    session: false,
    key: false,
    befall: ({ file }) => alice.post(`/drive/files/${file}/move`, { workspace_id: alice.workspaceId, parent_id: null }),
  },
}

for (const [fate, { session, key: byKey, befall }] of Object.entries(fates))
  test(`links of a creator who ${fate} ${session ? 'work' : 'end'}, and ${byKey ? 'work' : 'end'} if a key signed them`, async () => {
    const workspace = (await alice.post('/workspaces', { name: 'Team' })).body.data.id as string
    await join(alice, bob, workspace, { role: 'member' })
    const place = `/workspaces/${workspace}/members/${bob.id}`
    const response = await alice.post('/drive/files', { workspace_id: workspace, name: 'a.txt', content: 'bytes' })
    const file = response.body.data.id as string
    const key = await bob.key({ scopes: ['*'] })
    const links = { session: await sign(bob, file), key: await sign(key, file) }
    for (const url of Object.values(links)) assert.deepEqual(await read(url), [200, 'bytes'])
    await befall({ key, place, file })
    assert.equal((await read(links.session))[0], session ? 200 : 401)
    assert.equal((await read(links.key))[0], byKey ? 200 : 401)
  })

test('a link shows the version it was signed for while that version is kept', async () => {
  const at = '/drive/files'
  const { data } = (await alice.post(at, { workspace_id: alice.workspaceId, name: 'v.txt', content: 'first' })).body
  const first = await sign(alice, data.id)
  await alice.patch(`${at}/${data.id}`, { content: 'second' })
  const second = await sign(alice, data.id)
  assert.deepEqual(await read(first), [200, 'first'])
  assert.deepEqual(await read(second), [200, 'second'])
  for (const [name, value] of [
    ['version', '2'],
    ['version', ''],
    ['by', data.id],
    ['key', data.id],
    ['key', ''],
  ] as const) {
    const forged = new URL(first)
    forged.searchParams.set(name, value)
    assert.equal((await read(forged.href))[0], 401, `${name}=${value}`)
  }
  await sql`delete from file_versions where file_id = ${data.id} and version = 1`.execute(server.app.engine.postgres.db)
  assert.equal((await read(first))[0], 410)
})
