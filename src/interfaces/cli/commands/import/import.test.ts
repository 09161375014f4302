import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { DatabaseSync } from 'node:sqlite'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { after, before, test } from 'node:test'
import { ZipFile } from 'yazl'
import { type Ran, program, ranBy } from '#test/cli/uk.ts'
import { type Person, type TestServer, testServer } from '#test/server.ts'
import { exits } from '../../exit.ts'

const stack = new AsyncDisposableStack()
after(() => stack.disposeAsync())
let server: TestServer
let alice: Person
let home: string
let env: Record<string, string>

before(async () => {
  home = await mkdtemp(join(tmpdir(), 'uk-import-'))
  stack.defer(() => rm(home, { recursive: true }))
  server = stack.use(await testServer())
  alice = await server.person('Alice')
  const { key } = await alice.key()
  env = { PATH: process.env.PATH!, HOME: home, UK_KEY: key, UK_ORIGIN: server.origin }
})

const uk = (...words: string[]): Promise<Ran> => ranBy(spawn(program, words, { env }), '')

async function zipped(name: string, files: Record<string, string | Buffer>): Promise<string> {
  const zip = new ZipFile()
  for (const [path, content] of Object.entries(files)) zip.addBuffer(Buffer.from(content), path)
  zip.end()
  const path = join(home, name)
  await writeFile(path, await buffer(zip.outputStream))
  return path
}

const said = (id: string, parent: string | null, role: string, text: string, more: object = {}) => ({
  id,
  parent,
  children: [],
  message: {
    id,
    author: { role },
    create_time: 1_736_209_400,
    content: { content_type: 'text', parts: [text] },
    ...more,
  },
})

const ofChatGpt = [
  {
    title: 'Postgres or not',
    create_time: 1_736_209_400.5,
    conversation_id: 'c-1',
    current_node: 'a2',
    mapping: {
      root: { id: 'root', parent: null, children: ['s'], message: null },
      s: said('s', 'root', 'system', 'You are hidden.', { weight: 0 }),
      q1: said('q1', 's', 'user', 'Which database?'),
      a1: said('a1', 'q1', 'assistant', 'The first answer.', { metadata: { model_slug: 'gpt-4o' } }),
      // An edited question, and an image and a tool call in between.
      q2: said('q2', 's', 'user', '', {
        content: {
          content_type: 'multimodal_text',
          parts: [
            { content_type: 'image_asset_pointer', asset_pointer: 'file-service://file-Gone12345' },
            { content_type: 'image_asset_pointer', asset_pointer: 'sediment://file_boat12345' },
            'Which of these?',
          ],
        },
        metadata: { attachments: [{ id: 'file-Notes1234', name: 'notes.txt' }] },
      }),
      t: said('t', 'q2', 'tool', 'output of a tool'),
      a2: said('a2', 't', 'assistant', 'The second answer.'),
    },
  },
]

const boat = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

test('alice imports ChatGPT chats with branches and files; a dry run changes nothing, and importing again adds no duplicates', async () => {
  const path = await zipped('chatgpt.zip', {
    'conversations.json': JSON.stringify(ofChatGpt),
    'chat.html': '<html>',
    'user.json': '{}',
    'file_boat12345-sanitized.png': boat,
    'file-Notes1234-notes.txt': 'milk',
  })
  const dry = await uk('import', 'chatgpt', path, '--dry-run')
  assert.equal(dry.code, 0, dry.err)
  assert.match(
    dry.err,
    /1 chat with 4 messages and 2 files:\n {2}Postgres or not +\(4\)\nSkipped:\n[\s\S]*1 images, audio and other files/,
  )
  assert.match(dry.err, /1 tool results[\s\S]*Dry run\./)
  const unasked = await uk('import', 'chatgpt', path)
  assert.equal(unasked.code, exits.usage[0])
  assert.match(unasked.err, /Nothing was imported: there is no terminal to confirm in\.\nAdd --yes/)
  assert.deepEqual((await alice.get('/chats')).body.data, [])

  const done = await uk('import', 'chatgpt', path, '--yes', '--json')
  assert.equal(done.code, 0, done.err)
  assert.deepEqual(JSON.parse(done.out).imported, 1)
  const [chat] = (await alice.get('/chats')).body.data
  assert.deepEqual(
    [chat.title, chat.created_at, chat.message_count],
    ['Postgres or not', '2025-01-07T00:23:20.500Z', 4],
  )
  const active = (await alice.get(`/chats/${chat.id}/messages`)).body.data
  assert.deepEqual(
    active.map((one: any) => [one.role, one.text, one.model]),
    [
      ['user', 'Which of these?', null],
      ['assistant', 'The second answer.', null],
    ],
  )
  const all = (await alice.get(`/chats/${chat.id}/messages?branch=all`)).body.data
  assert.deepEqual(
    all.map((one: any) => [one.text, one.model]),
    [
      ['Which database?', null],
      ['The first answer.', 'gpt-4o'],
      ['Which of these?', null],
      ['The second answer.', null],
    ],
  )
  const parts = active[0].content
  assert.deepEqual(
    parts.map(({ type, source }: any) => [type, source?.name ?? null]),
    [
      ['text', null],
      ['image', 'file_boat12345-sanitized.png'],
      ['file', 'file-Notes1234-notes.txt'],
    ],
  )
  const kept = await fetch(`${server.origin}/v1/drive/files/${parts[1].source.file_id}`, { headers: alice.headers })
  assert.deepEqual(Buffer.from(await kept.arrayBuffer()), boat)
  // The chat can continue on either branch.
  const on = await alice.post(`/chats/${chat.id}/messages`, {
    content: 'And now?',
    model: 'sim/echo',
    parent_id: all[1].id,
  })
  assert.equal(on.status, 200, on.text)
  const again = await uk('import', 'chatgpt', path, '--yes')
  assert.match(again.err, /Imported 0 chats\. 1 had already been imported/)
  assert.equal((await alice.get('/chats')).body.data.length, 1)
  // A newer export has a different time for the same chat. Its files aren't uploaded twice.
  const later = await zipped('later.zip', {
    'conversations.json': JSON.stringify([{ ...ofChatGpt[0], create_time: 1_736_300_000 }]),
    'file_boat12345-sanitized.png': boat,
  })
  assert.match((await uk('import', 'chatgpt', later, '--yes')).err, /Imported 0 chats\. 1 had already been imported/)
  const folders = (await alice.get(`/drive/files?workspace_id=${alice.workspaceId}`)).body.data
  const folder = folders.find(({ name }: any) => name === 'Imported from ChatGPT')
  assert.equal((await alice.get(`/drive/files?parent_id=${folder.id}`)).body.data.length, 2)
})

test('Claude chats keep text attachments; Open WebUI chats are imported once from an export or a database', async () => {
  const claude = [
    {
      uuid: 'k-1',
      name: '',
      created_at: '2025-03-01T10:00:00Z',
      chat_messages: [
        {
          uuid: 'm-1',
          sender: 'human',
          text: '',
          content: [{ type: 'text', text: 'Read this' }],
          attachments: [{ file_name: 'notes.txt', extracted_content: 'the notes' }],
          files: [{ file_name: 'x.png' }],
        },
        {
          uuid: 'm-2',
          sender: 'assistant',
          content: [
            { type: 'thinking', thinking: 'hm' },
            { type: 'text', text: 'I have read it.' },
          ],
        },
        { uuid: 'm-3', sender: 'assistant', content: [{ type: 'text', text: 'Or so.' }], parent_message_uuid: 'm-1' },
      ],
    },
  ]
  const ran = await uk(
    'import',
    'claude',
    await zipped('claude.zip', { 'data/conversations.json': JSON.stringify(claude) }),
    '--yes',
  )
  assert.equal(ran.code, 0, ran.err)
  assert.match(ran.err, /1 model thoughts/)
  const find = async (title: string) =>
    (await alice.get('/chats?limit=100')).body.data.find((chat: any) => chat.title.startsWith(title))
  const chat = await find('Read this')
  const all = (await alice.get(`/chats/${chat.id}/messages?branch=all`)).body.data
  assert.equal(all[0].text, 'Read this\n\nnotes.txt:\n\nthe notes')
  assert.deepEqual(
    all.slice(1).map((one: any) => one.parent_id),
    [all[0].id, all[0].id],
  )

  const web = {
    id: 'w-1',
    title: 'From the web',
    created_at: 1_740_000_000,
    chat: {
      history: {
        currentId: 'b',
        messages: {
          b: {
            id: 'b',
            parentId: 'a',
            role: 'assistant',
            model: 'llama3',
            content: '<details type="reasoning" done="true">hm</details>\nHello.',
          },
          a: { id: 'a', parentId: null, role: 'user', content: 'Hi', timestamp: 1_740_000_001 },
        },
      },
    },
  }
  // An embedded image, an uploaded file, and a path that leaves the folder.
  const filed = {
    history: {
      currentId: 'a',
      messages: {
        a: {
          id: 'a',
          role: 'user',
          content: '',
          files: [
            { type: 'image', url: `data:image/png;base64,${boat.toString('base64')}` },
            { type: 'file', id: 'f-1', name: 'list.txt' },
            { type: 'file', id: 'f-2', name: 'secret.txt' },
          ],
        },
      },
    },
  }
  const json = join(home, 'webui.json')
  await writeFile(json, JSON.stringify([web, { nothing: true }]))
  const first = await uk('import', 'open-webui', json, '--yes')
  assert.match(first.err, /1 entries that aren't chats[\s\S]*Imported 1 chat\./)
  const webChat = await find('From the web')
  const messages = (await alice.get(`/chats/${webChat.id}/messages`)).body.data
  assert.deepEqual(
    messages.map((one: any) => [one.role, one.text, one.model]),
    [
      ['user', 'Hi', null],
      ['assistant', 'Hello.', 'llama3'],
    ],
  )
  await mkdir(join(home, 'uploads'))
  await writeFile(join(home, 'uploads', 'f-1_list.txt'), 'eggs')
  await symlink('/etc/hostname', join(home, 'uploads', 'f-2_secret.txt'))
  const file = join(home, 'webui.db')
  const database = new DatabaseSync(file)
  database.exec(
    'create table user (id text, email text); create table chat (id text, user_id text, title text, chat text, created_at integer)',
  )
  for (const user of ['u', 'v']) {
    database.prepare('insert into user values (?, ?)').run(user, `${user}@example.com`)
    database
      .prepare('insert into chat values (?, ?, ?, ?, ?)')
      .run(
        user === 'u' ? web.id : 'w-2',
        user,
        `${web.title} ${user}`,
        JSON.stringify(user === 'u' ? web.chat : filed),
        null,
      )
  }
  database.close()
  const whose = await uk('import', 'open-webui', file, '--yes')
  assert.equal(whose.code, exits.usage[0])
  assert.match(whose.err, /--user: u@example\.com \(1\), v@example\.com \(1\)/)
  const same = await uk('import', 'open-webui', file, '--user', 'u@example.com', '--yes')
  assert.match(same.err, /Imported 0 chats\. 1 had already been imported/)
  const other = await uk('import', 'open-webui', file, '--user', 'v@example.com', '--yes')
  assert.match(
    other.err,
    /1 message and 2 files[^]*1 images, audio and other files missing from the export[^]*Imported 1 chat\./,
  )
  const withFiles = await find('From the web v')
  assert.ok(
    Date.now() - Date.parse(withFiles.created_at) < 600_000,
    'a chat without a time is of today, and not of 1970',
  )
  assert.equal((await alice.get('/chats?limit=1')).body.data[0].id, withFiles.id)
  const [said] = (await alice.get(`/chats/${withFiles.id}/messages`)).body.data
  assert.deepEqual(
    said.content.map(({ type }: any) => type),
    ['image', 'file'],
  )
})

test('invalid, deeply nested and oversized exports are rejected with a message', async () => {
  const refused = async (path: string, words: RegExp): Promise<void> => {
    const ran = await uk('import', 'chatgpt', path, '--yes')
    assert.equal(ran.code, exits.usage[0], ran.err)
    assert.match(ran.err, words)
  }
  const write = async (name: string, content: string | Buffer): Promise<string> => {
    await writeFile(join(home, name), content)
    return join(home, name)
  }
  await refused(join(home, 'none.zip'), /Can't read /)
  await refused(await write('a.json', '{"not": '), /isn't valid JSON/)
  await refused(await write('b.json', '7'), /doesn't contain a list of chats/)
  await refused(
    await write('c.zip', Buffer.concat([Buffer.from('PK\x03\x04'), Buffer.alloc(100)])),
    /isn't a valid ZIP file/,
  )
  await refused(await zipped('d.zip', { 'other.json': '[]' }), /has no conversations\.json/)
  const strange = await uk(
    'import',
    'chatgpt',
    await write('e.json', JSON.stringify([1, null, { mapping: [] }, { mapping: {} }])),
    '--yes',
    '--json',
  )
  assert.deepEqual(JSON.parse(strange.out).found, 0)
  const deep = await uk('import', 'chatgpt', await write('f.json', '['.repeat(1_000_000)), '--yes')
  assert.equal(deep.code, exits.usage[0])
})
