import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { test } from 'node:test'
import { newId } from '#core/ids.ts'
import { pdfOf } from '#test/drive/documents.ts'
import { upload } from '#test/drive/drive.ts'
import { type Caller, type Person, testServer } from '#test/server.ts'
import { PATIENCE_MS } from '#test/until.ts'

type Hit = {
  type: string
  id: string
  title: string
  snippet: string
  highlights: { field: 'title' | 'snippet'; start: number; end: number }[]
  matched_by: string[]
}

const search = async (who: Pick<Caller, 'get'>, query: Record<string, string>): Promise<{ hits: Hit[]; body: any }> => {
  const { status, body, text } = await who.get(`/search?${new URLSearchParams(query).toString()}`)
  assert.equal(status, 200, text)
  return { hits: body.data, body }
}
/** Repeats the search until its results match, because indexing is asynchronous. */
async function soon(
  who: Pick<Caller, 'get'>,
  query: Record<string, string>,
  enough: (hits: Hit[]) => boolean,
): Promise<Hit[]> {
  const until = Date.now() + PATIENCE_MS
  for (;;) {
    const { hits } = await search(who, query)
    if (enough(hits) || Date.now() > until) return hits
    await sleep(20)
  }
}
const put = async (person: Person, name: string, text: string | Buffer, parent?: string): Promise<string> =>
  (
    await upload(
      person,
      parent === undefined ? { workspace_id: person.workspaceId } : { parent_id: parent },
      Buffer.from(text),
      name,
    )
  ).body.data.id
const folder = async (person: Person, name: string, parent?: string): Promise<string> =>
  (
    await person.post('/drive/files/folders', {
      name,
      ...(parent === undefined ? { workspace_id: person.workspaceId } : { parent_id: parent }),
    })
  ).body.data.id
const marked = ({ title, snippet, highlights }: Hit): string[] =>
  highlights.map(({ field, start, end }) => (field === 'title' ? title : snippet).slice(start, end))

test('a user finds their files, notes, repositories, chats, messages and agents, and others find nothing', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const bob = await server.person('Bob')
  const notes = await folder(alice, 'Notes')
  const code = await folder(alice, 'kettle-firmware')
  await folder(alice, '.git', code)
  const file = await put(alice, 'brewTea_v2.ts', 'export const steepingMinutes = 3\n')
  const note = await put(alice, 'monday.md', '# Monday\n\nWe were running out of oolong leaves.\n', notes)
  const agent = (await alice.post('/agents', { name: 'Barista', system_prompt: 'You pour with a gooseneck.' })).body
    .data.id
  const chat = (await alice.post('/chats', { title: 'About samovars' })).body.data.id
  const response = await alice.post(`/chats/${chat}/messages`, {
    model: 'sim/echo',
    content: 'Where is the gaiwan lid?',
  })
  const gaiwanHits = await soon(alice, { q: 'gaiwan' }, (hits) => hits.length === 2)
  assert.deepEqual(
    gaiwanHits.map(({ type }) => type),
    ['message', 'message'],
  )
  assert.ok(gaiwanHits.some(({ id }) => id === response.body.data.id))

  const [oolong] = await soon(alice, { q: 'run oolong' }, (hits) => hits.length > 0)
  assert.deepEqual([oolong!.type, oolong!.id, oolong!.title], ['note', note, 'monday.md'])
  assert.deepEqual(marked(oolong!), ['running', 'oolong'])
  assert.deepEqual(oolong!.matched_by, ['keyword'])
  const one = async (q: string, more: Record<string, string> = {}) =>
    (await soon(alice, { q, ...more }, (hits) => hits.length > 0)).map(({ type, id }) => `${type} ${id}`)
  assert.deepEqual(await one('brew tea'), [`file ${file}`])
  assert.deepEqual(await one('steepingMin'), [`file ${file}`], 'the last word is a beginning')
  assert.deepEqual(await one('gooseneck'), [`agent ${agent}`])
  assert.deepEqual(await one('samovar', { types: 'chat' }), [`chat ${chat}`])
  assert.deepEqual(await one('firmware'), [`repository ${code}`])
  assert.deepEqual(await one('baritsa'), [`agent ${agent}`], 'a typo')
  assert.deepEqual(await one('monday', { types: 'file' }), [`note ${note}`], 'a note is a file')
  assert.deepEqual((await search(alice, { q: '"leaves oolong"' })).hits, [])
  assert.deepEqual((await search(alice, { q: 'oolong -running' })).hits, [])

  const { body } = await search(alice, { q: 'oolong', mode: 'semantic' })
  assert.deepEqual([body.mode, body.degraded], ['keyword', ['semantic: no embedding model is configured']])
  for (const q of ['gaiwan', 'oolong', 'gooseneck', 'samovar', 'tea'])
    assert.deepEqual((await search(bob, { q })).hits, [])
  assert.equal((await bob.get(`/search?q=tea&workspace_id=${alice.workspaceId}`)).status, 404)
  assert.equal((await alice.get('/search?q=x&types=nonsense')).body.error.code, 'invalid_parameter')
})

test('trashed, deleted, moved or forbidden resources leave search at once and come back when restored', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const bob = await server.person('Bob')
  const team = (await alice.post('/workspaces', { name: 'Team' })).body.data.id
  const { token } = (await alice.post(`/workspaces/${team}/invitations`, { email: bob.email, role: 'viewer' })).body
    .data
  await bob.post('/invitations/accept', { token })
  const shelf = (await alice.post('/drive/files/folders', { name: 'shelf', workspace_id: team })).body.data.id
  const file = (await upload(alice, { parent_id: shelf }, Buffer.from('the quokka smiles'), 'a.txt')).body.data.id
  const ids = async (who: Pick<Caller, 'get'>, q = 'quokka') => (await search(who, { q })).hits.map(({ id }) => id)
  await soon(bob, { q: 'quokka' }, (hits) => hits.length === 1)
  assert.deepEqual(await ids(bob), [file])

  const narrow = await bob.key({ scopes: ['search:read', 'chat:read'] })
  assert.deepEqual(await ids(narrow), [], 'a key that may not read the drive finds no files')
  const elsewhere = await bob.key({ scopes: ['*'], workspace_id: bob.workspaceId })
  assert.deepEqual(await ids(elsewhere), [], 'a key of another workspace')

  await alice.delete(`/drive/files/${shelf}`)
  assert.deepEqual(await ids(bob), [])
  await alice.post(`/drive/files/${shelf}/restore`)
  assert.deepEqual(await ids(bob), [file])
  await alice.post(`/drive/files/${shelf}/move`, { parent_id: await folder(alice, 'mine') })
  assert.deepEqual(await ids(bob), [])
  assert.deepEqual(await ids(alice), [file])
  await alice.patch(`/drive/files/${file}`, { content: 'the numbat smiles' })
  await soon(alice, { q: 'numbat' }, (hits) => hits.length === 1)
  assert.deepEqual(await ids(alice), [])

  const chat = (await alice.post('/chats', { title: 'Wombat talk', workspace_id: team })).body.data.id
  await soon(bob, { q: 'wombat' }, (hits) => hits.length === 1)
  const { data: members } = (await alice.get(`/workspaces/${team}/members`)).body
  const membership = members.find(({ user_id }: { user_id: string }) => user_id === bob.id)
  await alice.patch(`/workspaces/${team}/members/${membership.id}`, {
    permissions: ['drive:read', 'search:read', 'workspace:read'],
  })
  assert.deepEqual(await ids(bob, 'wombat'), [])
  await alice.patch(`/workspaces/${team}/members/${membership.id}`, { permissions: null })
  assert.deepEqual(await ids(bob, 'wombat'), [chat])
  await alice.delete(`/workspaces/${team}/members/${membership.id}`)
  assert.deepEqual(await ids(bob, 'wombat'), [])
})

test('text in a PDF is found by search and grep, and result pages have no duplicates', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const pdf = await put(alice, 'report.pdf', pdfOf(['Quarterly tapir census', 'All is well']))
  const [hit] = await soon(alice, { q: 'tapir' }, (hits) => hits.length > 0)
  assert.equal(hit?.id, pdf)
  assert.deepEqual(marked(hit), ['tapir'])
  const grep = await alice.get('/drive/grep?pattern=tapir%20c')
  assert.deepEqual(
    grep.body.data.map(({ file_id }: { file_id: string }) => file_id),
    [pdf],
  )

  for (let i = 0; i < 7; i++) await put(alice, `n${i}.txt`, `capybara ${'x '.repeat(i)}`)
  await soon(alice, { q: 'capybara' }, (hits) => hits.length === 7)
  const ids: string[] = []
  let cursor: string | null = null
  do {
    const { hits, body } = await search(alice, { q: 'capybara', limit: '3', ...(cursor && { cursor }) })
    ids.push(...hits.map(({ id }) => id))
    cursor = body.pagination.next_cursor
  } while (cursor)
  assert.equal(new Set(ids).size, 7)
  assert.equal(ids.length, 7)
})

test('shared resources and folder contents are found until the share is revoked', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const bob = await server.person('Bob')
  const shelf = await folder(alice, 'shelf')
  const inner = await folder(alice, 'inner', shelf)
  const deep = await put(alice, 'deep.txt', 'an axolotl below', inner)
  await put(alice, 'mine.txt', 'an axolotl of mine')
  await soon(alice, { q: 'axolotl' }, (hits) => hits.length === 2)
  assert.deepEqual((await search(bob, { q: 'axolotl' })).hits, [])
  const share = { resource_type: 'folder', resource_id: shelf, grantee: { email: bob.email }, access: 'view' }
  const shareResponse = await alice.post('/shares', share)
  assert.equal(shareResponse.status, 201, shareResponse.text)
  await bob.post('/invitations/accept', { token: shareResponse.body.data.token })
  assert.deepEqual(
    (await search(bob, { q: 'axolotl' })).hits.map(({ id }) => id),
    [deep],
  )
  const narrow = await bob.key({ scopes: ['search:read', 'chat:read'] })
  assert.deepEqual((await search(narrow, { q: 'axolotl' })).hits, [])
  await alice.delete(`/shares?share_id=${shareResponse.body.data.id}`)
  assert.deepEqual((await search(bob, { q: 'axolotl' })).hits, [])
})

test('a word is found in old and new rows a million rows apart', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const bob = await server.person('Bob')
  const others = (await alice.post('/workspaces', { name: 'Others' })).body.data.id
  const titles = async (query: Record<string, string>) =>
    (await search(alice, query)).hits.map(({ title }) => title).toSorted()
  for (const [i, row] of [1, 90_000, 99_000, 1_200_000, 1_290_000, 1_300_000].entries()) {
    await server.app.engine.postgres.pool.query(`select setval('search_rows_row_id_seq', ${row})`)
    for (const [who, workspace] of [
      [alice, others] as const,
      [alice, alice.workspaceId] as const,
      [bob, bob.workspaceId] as const,
    ])
      await who.post('/agents', {
        name: `${workspace === others ? 'theirs' : 'mine'} ${i}`,
        workspace_id: workspace,
        system_prompt: 'a wombat digs',
      })
    await soon(alice, { q: 'wombat', limit: '100' }, (hits) => hits.length === 2 * (i + 1))
  }
  const ownFiles = [0, 1, 2, 3, 4, 5].map((i) => `mine ${i}`)
  assert.deepEqual(await titles({ q: 'wombat', limit: '100' }), [
    ...ownFiles,
    ...ownFiles.map((name) => name.replace('mine', 'theirs')),
  ])
  assert.deepEqual(await titles({ q: 'dig womb', workspace_id: alice.workspaceId }), ownFiles)
})

test('a word frequent in the newest rows is also found in older ones', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const newest = Array.from({ length: 100 }, (_, i) => 1_290_000 + i * 100)
  const older = [1, 5_000, 900_000, 1_200_000, 1_285_000]
  await server.app.engine.postgres.pool.query(
    `with given as (select * from unnest($1::text[], $2::int8[], $3::text[], $4::text[]) x(id, row_id, title, body)),
      registered as (insert into resources (id, kind, workspace_id) select id, 'agent', $5 from given),
      written as (insert into search_rows (row_id, type, id, resource_id, workspace_id, hidden, title, tsv, words_version, created_at, updated_at)
        overriding system value select row_id, 'agent', id, id, $5, false, title, to_tsvector('english', body), 20, now(), now() from given)
    insert into search_bodies select row_id, body from given`,
    [
      [...newest, ...older].map(() => newId()),
      [...newest, ...older],
      [...newest, ...older].map((row) => `row ${row}`),
      [...newest.map(() => 'a wombat among many other things'), ...older.map(() => 'wombat wombat')],
      alice.workspaceId,
    ],
  )
  const { hits, body } = await search(alice, { q: 'wombat', limit: '100' })
  assert.deepEqual(
    hits.slice(0, older.length).map(({ title }) => title),
    older.toReversed().map((row) => `row ${row}`),
  )
  const rest = await search(alice, { q: 'wombat', limit: '100', cursor: body.pagination.next_cursor })
  assert.equal(new Set([...hits, ...rest.hits].map(({ id }) => id)).size, newest.length + older.length)
})

test('words in scripts without spaces are found anywhere, alone, excluded and in titles', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const tea = await put(alice, '笔记.md', '今天我喜欢喝茶和咖啡，用ChatGPT写作。\n')
  const milk = await put(alice, '牛奶.md', '喝牛奶，不喝茶水以外的茶。\n')
  const japanese = await put(alice, 'コーヒーの店.txt', '東京で一番おいしいコーヒーを飲む。')
  const thai = await put(alice, 'thai.txt', 'ฉันชอบดื่มน้ำชา')
  const ids = async (q: string) => (await search(alice, { q })).hits.map(({ id }) => id).toSorted()
  await soon(alice, { q: 'น้ำชา' }, (hits) => hits.length > 0)
  assert.deepEqual(await ids('喝茶'), [tea, milk].toSorted())
  assert.deepEqual(await ids('喜欢喝茶'), [tea])
  assert.deepEqual(await ids('喝茶 -喜欢喝'), [milk])
  assert.deepEqual(await ids('"和咖啡"'), [tea])
  assert.deepEqual(await ids('茶'), [tea, milk].toSorted())
  assert.deepEqual(await ids('chatgpt 写作'), [tea])
  assert.deepEqual(await ids('茶咖'), [])
  assert.deepEqual(await ids('笔记'), [tea])
  assert.deepEqual(await ids('コーヒー'), [japanese])
  assert.deepEqual(await ids('東京'), [japanese])
  assert.deepEqual(await ids('ดื่ม'), [thai])
  const [hit] = (await search(alice, { q: '喜欢喝茶' })).hits
  assert.deepEqual(marked(hit!), ['喜欢喝茶'])
  // A long text of distinct characters is indexed too.
  const long = Array.from({ length: 99_990 }, (_, i) => String.fromCodePoint(0x4e00 + ((i * 7_919) % 20_000))).join('')
  const book = await put(alice, 'long.txt', `${long} 结束了吗`)
  await soon(alice, { q: long.slice(500, 520) }, (hits) => hits.length > 0)
  assert.deepEqual(await ids(long.slice(500, 520)), [book])
})

test('a snippet is the part of a long text with the most matching words', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const filler = 'Nothing of note was said on that day, and nobody minded. '.repeat(600)
  await put(
    alice,
    'diary.txt',
    `The harvest was late. ${filler}Views of the mountain orchard at harvest time. ${filler}An orchard.`,
  )
  const [hit] = await soon(alice, { q: 'orchard harvests' }, (hits) => hits.length > 0)
  assert.match(hit!.snippet, /mountain orchard at harvest time/)
  assert.deepEqual(marked(hit!), ['orchard', 'harvest'])
})
