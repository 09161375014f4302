import assert from 'node:assert/strict'
import { test } from 'node:test'
import { form } from '#test/drive/drive.ts'
import { type Answer, type Person, testServer } from '#test/server.ts'

const base64 = (words: string): string => Buffer.from(words).toString('base64')
const refused = ['a/b', '/etc/passwd', '..', '.', ' ', 'a\tb', '\u202egpj.exe', 'x'.repeat(256)]

/** Every way to name a file or folder. */
const ways: Record<string, (alice: Person, file: string, name: string) => Promise<Answer>> = {
  form: (alice, _, name) => {
    const { body, headers } = form([
      ['workspace_id', alice.workspaceId],
      ['name', name],
      ['file', Buffer.from('x'), 'x.txt'],
    ])
    return alice.request('POST', '/drive/files', body, headers)
  },
  JSON: (alice, _, name) => alice.post('/drive/files', { workspace_id: alice.workspaceId, name, content: 'x' }),
  'a folder': (alice, _, name) => alice.post('/drive/files/folders', { workspace_id: alice.workspaceId, name }),
  'a change': (alice, file, name) => alice.patch(`/drive/files/${file}`, { name }),
  'a copy': (alice, file, name) => alice.post(`/drive/files/${file}/copy`, { workspace_id: alice.workspaceId, name }),
  ...Object.fromEntries(
    ['name', 'filename'].map((field) => [
      `tus, ${field}`,
      (alice: Person, _: string, name: string) =>
        alice.post('/drive/uploads', undefined, {
          'tus-resumable': '1.0.0',
          'upload-length': '1',
          'upload-metadata': `workspace_id ${base64(alice.workspaceId)},${field} ${base64(name)}`,
        }),
    ]),
  ),
}

test('an invalid name is rejected by every way to create or rename a file', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const response = await alice.post('/drive/files', { workspace_id: alice.workspaceId, name: 'a.txt', content: 'x' })
  for (const [way, give] of Object.entries(ways)) {
    for (const name of refused) {
      const { status, text } = await give(alice, response.body.data.id, name)
      assert.equal(status, 400, `${way}, ${JSON.stringify(name.slice(0, 20))}: ${text}`)
    }
    const accepted = await give(alice, response.body.data.id, `${way} fine.txt`)
    assert.ok(accepted.status < 300, `${way}: ${accepted.text}`)
  }
})
