import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sweepBlobs } from '#infra/blobs/sweep.ts'
import { docxOf } from '#test/drive/documents.ts'
import { upload } from '#test/drive/drive.ts'
import { type Caller, type Person, type TestServer, testServer } from '#test/server.ts'
import { startOpenAI } from '#test/vendors/openai/openai.ts'
import type { Vendor } from '#test/vendors/vendor.ts'

let server: TestServer
let vendor: Vendor
let alice: Person
let bob: Person
before(async () => {
  vendor = await startOpenAI()
  server = await testServer({ environment: { UK_UPSTREAM_ALLOW: '127.0.0.1', UK_SIGN_UP_CREDITS_USD: '5' } })
  alice = await server.person('Alice')
  bob = await server.person('Bob')
  const endpoint = await alice.post('/ai-gateway/provider-endpoints', {
    name: 'Vendor',
    slug: 'vendor',
    shape: 'openai-chat',
    base_url: `${vendor.origin}/v1`,
    api_key: vendor.key,
    models: [{ id: 'gpt-4o', pricing: { input: 1, output: 2 } }],
  })
  assert.equal(endpoint.status, 201, endpoint.text)
})
after(async () => {
  await server[Symbol.asyncDispose]()
  await vendor[Symbol.asyncDispose]()
})

const pixel = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
async function stored(who: Person, bytes: Uint8Array, name: string, workspace_id = who.workspaceId): Promise<string> {
  const answer = await upload(who, { workspace_id }, bytes, name)
  assert.equal(answer.status, 201, answer.text)
  return answer.body.data.id
}
const chatOf = async (who: Caller, more: object = {}): Promise<string> =>
  (await who.post('/chats', { model: 'sim/echo', ...more })).body.data.id
const part = (type: 'image' | 'file', file_id: string) => ({ type, source: { kind: 'file', file_id } })
const send = (who: Caller, chat: string, ...content: object[]) => who.post(`/chats/${chat}/messages`, { content })
async function sent(who: Caller, chat: string, ...content: object[]) {
  const answer = await send(who, chat, ...content)
  assert.equal(answer.status, 200, answer.text)
  return answer.body.data
}
const files = async (who: Caller, chat: string) =>
  (await who.get(`/chats/${chat}/messages?branch=all`)).body.data.flatMap(({ content }: { content: any[] }) =>
    content.filter(({ source }) => source?.kind === 'file'),
  )
/** Messages of the provider's last request. */
const lastMessages = () => vendor.requests.findLast(({ method }) => method === 'POST')!.json().messages

test('drive files in a message reach the model as images, text and document text, as of sending', async () => {
  const picture = await stored(alice, pixel, 'dot.png')
  const notes = await stored(alice, Buffer.from('buy milk\n'), 'notes.txt')
  const letter = await stored(alice, await docxOf('<w:p><w:r><w:t>Dear Bob</w:t></w:r></w:p>'), 'letter.docx')
  const noise = await stored(alice, Buffer.from([0, 1, 2, 255, 0, 3]), 'noise.bin')
  const chat = await chatOf(alice, { model: 'vendor/gpt-4o' })
  const question = { type: 'text', text: 'What is this?' }
  await sent(alice, chat, question, part('image', picture), ...[notes, letter, noise].map((id) => part('file', id)))
  const [{ content }] = lastMessages()
  const url = `data:image/png;base64,${pixel.toString('base64')}`
  assert.deepEqual([content[0].text, content[1].image_url.url], ['What is this?', url])
  const texts = content.slice(2).map(({ text }: { text: string }) => text)
  assert.match(texts[0], /^\[notes\.txt\]\nbuy milk/)
  assert.match(texts[1], /^\[letter\.docx\]\n(.*\n)*Dear Bob/)
  assert.match(texts[2], /^\[noise\.bin isn’t shown: /)
  const [imagePart, text] = await files(alice, chat)
  assert.deepEqual(
    [imagePart.source.file_id, imagePart.source.name, imagePart.source.media_type, imagePart.source.size_bytes],
    [picture, 'dot.png', 'image/png', pixel.length],
  )
  assert.deepEqual([text.name, text.source.name], ['notes.txt', 'notes.txt'])

  assert.equal((await alice.patch(`/drive/files/${notes}`, { content: 'buy wine' })).status, 200)
  await sent(alice, chat, { type: 'text', text: 'And now?' })
  assert.match(lastMessages()[0].content[2].text, /buy milk/)
  const page = (await alice.get(`/chats/${chat}/export?format=html`)).text
  assert.ok(page.includes(`src="${url}"`) && page.includes(`base64,${Buffer.from('buy milk\n').toString('base64')}`))
  const json = JSON.parse((await alice.get(`/chats/${chat}/export?format=json`)).text)
  assert.equal(json.messages[0].content[1].source.data, pixel.toString('base64'))
})

test('unreadable files return 404, and folders, trashed and oversized files are rejected', async () => {
  const hers = await stored(alice, Buffer.from('secret'), 'secret.txt')
  const his = await chatOf(bob)
  const stolen = await send(bob, his, part('file', hers))
  assert.deepEqual([stolen.status, stolen.body.error.param], [404, 'content.0.source.file_id'])
  assert.equal((await bob.get(`/chats/${his}/messages`)).body.data.length, 0)
  const chat = await chatOf(alice)
  const folder = (await alice.post('/drive/files/folders', { workspace_id: alice.workspaceId, name: 'F' })).body.data.id
  assert.equal((await send(alice, chat, part('file', folder))).status, 400)
  await alice.delete(`/drive/files/${hers}`)
  assert.equal((await send(alice, chat, part('file', hers))).body.error.code, 'invalid_state')
  const large = await stored(alice, Buffer.alloc((20 << 20) + 1, 'x'), 'large.txt')
  assert.equal((await send(alice, chat, part('file', large))).status, 413)
  // Users can't send their own files in a chat shared with them.
  const grantee = { email: bob.email }
  const shared = await alice.post('/shares', { resource_type: 'chat', resource_id: chat, grantee, access: 'edit' })
  await bob.post('/invitations/accept', { token: shared.body.data.token })
  const response = await send(bob, chat, part('file', await stored(bob, Buffer.from('his'), 'his.txt')))
  assert.deepEqual([response.status, response.body.error.param], [403, 'content.0.source.file_id'])
  const key = await alice.key({ scopes: ['chat:write', 'chat:run'] })
  const small = await stored(alice, Buffer.from('x'), 'small.txt')
  assert.equal((await send(key, chat, part('file', small))).body.error.code, 'missing_scope')
})

test('a chat copied or forked elsewhere gets its own files if the user can write files there', async () => {
  const picture = await stored(alice, pixel, 'kept.png')
  const chat = await chatOf(alice)
  await sent(alice, chat, { type: 'text', text: 'look' }, part('image', picture))
  await sent(alice, chat, { type: 'text', text: 'again' }, part('image', picture))
  await alice
    .post('/shares', { resource_type: 'chat', resource_id: chat, grantee: { email: bob.email } })
    .then(({ body }) => bob.post('/invitations/accept', { token: body.data.token }))
  assert.equal((await bob.get(`/drive/files/${picture}`)).status, 404)

  const { id: narrow } = (await alice.post('/workspaces', { name: 'Narrow' })).body.data
  const grant = { email: bob.email, role: 'member', permissions: ['chat:write'] }
  const { token } = (await alice.post(`/workspaces/${narrow}/invitations`, grant)).body.data
  await bob.post('/invitations/accept', { token })
  const refused = await bob.post(`/chats/${chat}/copy-to-workspace`, { workspace_id: narrow })
  assert.deepEqual([refused.status, refused.body.error.code], [403, 'insufficient_role'], refused.text)
  assert.equal((await alice.get(`/chats?workspace_id=${narrow}`)).body.data.length, 0)

  for (const way of ['copy', 'fork']) {
    const copyResponse = await bob.post(`/chats/${chat}/${way}-to-workspace`, { workspace_id: bob.workspaceId })
    assert.equal(copyResponse.status, 201, copyResponse.text)
    const [first, second] = (await files(bob, copyResponse.body.data.id)).map(({ source }: any) => source)
    assert.notEqual(first.file_id, picture)
    assert.equal(first.file_id, second.file_id, 'one file is carried once')
    const { data } = (await bob.get(`/drive/files/${first.file_id}/metadata`)).body
    assert.deepEqual([data.workspace_id, data.created_by, data.size_bytes], [bob.workspaceId, bob.id, pixel.length])
  }
  const agent_id = (await alice.post('/agents', { name: 'Other', workspace_id: narrow })).body.data.id
  const adopted = (await alice.post(`/chats/${chat}/copy-to-agent`, { agent_id })).body.data
  const [{ source }] = await files(alice, adopted.id)
  const carried = await alice.get(`/drive/files/${source.file_id}/metadata`)
  assert.equal(carried.body.data.workspace_id, narrow)

  await alice.delete(`/drive/files/${picture}`)
  await alice.delete(`/drive/files/${picture}/permanent-delete`)
  await sweepBlobs(server.app.engine, { graceMinutes: -1 })
  const [{ source: his }] = await files(bob, (await bob.get(`/chats?workspace_id=${bob.workspaceId}`)).body.data[0].id)
  assert.equal((await bob.get(`/drive/files/${his.file_id}`)).status, 200)
})

test('a file from another workspace is copied to the chat’s, and deleted files are noted in the request', async () => {
  const { id: team } = (await alice.post('/workspaces', { name: 'Team' })).body.data
  const mine = await stored(alice, Buffer.from('only once, and then gone'), 'gone.txt')
  const chat = await chatOf(alice, { model: 'vendor/gpt-4o', workspace_id: team })
  await sent(alice, chat, part('file', mine))
  const [{ source }] = await files(alice, chat)
  assert.notEqual(source.file_id, mine)
  assert.equal((await alice.get(`/drive/files/${source.file_id}/metadata`)).body.data.workspace_id, team)
  for (const id of [mine, source.file_id]) {
    await alice.delete(`/drive/files/${id}`)
    await alice.delete(`/drive/files/${id}/permanent-delete`)
  }
  await sweepBlobs(server.app.engine, { graceMinutes: -1 })
  await sent(alice, chat, { type: 'text', text: 'Still there?' })
  assert.match(JSON.stringify(lastMessages()[0].content), /gone\.txt isn’t shown: it was deleted/)
  assert.match((await alice.get(`/chats/${chat}/export`)).text, /gone\.txt isn’t shown/)
})
