/** Names that are taken get a number, whichever way a file comes and however many there are. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { upload } from '#test/drive/drive.ts'
import { type Answer, type Person, type TestServer, testServer } from '#test/server.ts'

let server: TestServer
let alice: Person
before(async () => {
  server = await testServer({ environment: { UK_LIMIT_WRITES: '0', UK_LIMIT_READS: '0' } })
  alice = await server.person('Alice')
})
after(() => server[Symbol.asyncDispose]())

async function folder(): Promise<string> {
  const response = await alice.post('/drive/files/folders', {
    workspace_id: alice.workspaceId,
    name: `f${Math.random()}`,
  })
  return ok(response).body.data.id
}

function ok(answer: Answer): Answer {
  assert.ok(answer.status < 300, answer.text)
  return answer
}

let placed = 0

/** Puts folders with these numbered names below a folder, as many earlier calls would have. */
async function occupy(parent: string, [head, tail]: [head: string, tail: string], numbers: string): Promise<void> {
  placed += 100_000
  await server.app.engine.postgres.pool.query(
    `with made as (select n, '01J' || lpad(($5::int + n)::text, 23, '0') as id from ${numbers} n),
      register as (insert into resources (id, kind, workspace_id) select id, 'file', $2 from made)
    insert into files (id, workspace_id, parent_id, kind, name, path, ancestors)
      select m.id, $2, $1::ulid, 'folder', $3::text || n || $4::text, f.path || '/' || $3::text || n || $4::text, array[$1::text]
      from made m, files f where f.id = $1::ulid`,
    [parent, alice.workspaceId, head, tail, placed],
  )
}

const write = (parent: string, name: string): Promise<Answer> =>
  upload(alice, { parent_id: parent, on_conflict: 'rename' }, Buffer.from('x'), name)

/** Every way in which a taken name gets a number. */
const ways: Record<string, (parent: string, name: string) => Promise<string>> = {
  'an upload': async (parent, name) => ok(await write(parent, name)).body.data.name,
  'JSON content': async (parent, name) =>
    ok(await alice.post('/drive/files', { parent_id: parent, name, content: 'x', on_conflict: 'rename' })).body.data
      .name,
  'a copy': async (parent, name) => {
    const of = ok(await upload(alice, { parent_id: await folder() }, Buffer.from('x'), name)).body.data.id
    return ok(await alice.post(`/drive/files/${of}/copy`, { parent_id: parent, name })).body.data.name
  },
  'a restored file': async (parent, name) => {
    const { pool } = server.app.engine.postgres
    const { id } = ok(await upload(alice, { parent_id: await folder() }, Buffer.from('x'), name)).body.data
    ok(await alice.delete(`/drive/files/${id}`))
    // Trashed there before the others came.
    await pool.query('update files set parent_id = $2::ulid, ancestors = array[$2::text] where id = $1', [id, parent])
    return ok(await alice.post(`/drive/files/${id}/restore`)).body.data.name
  },
}

for (const [way, name] of Object.entries(ways))
  test(`${way} finds the next free name among thousands in one statement`, async () => {
    const parent = await folder()
    ok(await upload(alice, { parent_id: parent }, Buffer.from('x'), 'scan.pdf'))
    await occupy(parent, ['scan (', ').pdf'], 'generate_series(2, 3000)')
    assert.equal(await name(parent, 'scan.pdf'), 'scan (3001).pdf')
  })

test('a gap among the first numbers is used, and a name near the length limit is shortened for its number', async () => {
  const parent = await folder()
  ok(await upload(alice, { parent_id: parent }, Buffer.from('x'), 'a.txt'))
  await occupy(parent, ['a (', ').txt'], 'unnest(array[2, 3, 5])')
  const names = [await write(parent, 'a.txt'), await write(parent, 'a.txt')].map((answer) => ok(answer).body.data.name)
  assert.deepEqual(names, ['a (4).txt', 'a (6).txt'])
  const long = `${'x'.repeat(251)}.txt`
  ok(await write(parent, long))
  await occupy(parent, [`${'x'.repeat(247)} (`, ').txt'], 'generate_series(2, 9)')
  await occupy(parent, [`${'x'.repeat(246)} (`, ').txt'], 'generate_series(10, 99)')
  assert.equal(ok(await write(parent, long)).body.data.name, `${'x'.repeat(245)} (100).txt`)
})

test('concurrent uploads of one name all succeed with different names', async () => {
  const parent = await folder()
  await occupy(parent, ['b (', ').txt'], 'generate_series(2, 100)')
  // They wait for one lock with a connection each. On a slow machine a request may time out waiting for a
  // connection and is retried.
  const writeAgain = async (): Promise<Answer> => {
    const answer = await write(parent, 'b.txt')
    return answer.status === 429 ? writeAgain() : answer
  }
  const answers = await Promise.all(Array.from({ length: 30 }, writeAgain))
  const names = answers.map((answer) => ok(answer).body.data.name)
  const numbers = [...Array(29).keys()].map((n) => `b (${n + 101}).txt`)
  assert.deepEqual(new Set(names), new Set(['b.txt', ...numbers]))
})
