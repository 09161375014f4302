import assert from 'node:assert/strict'
import { request } from 'node:http'
import { json } from 'node:stream/consumers'
import { test } from 'node:test'
import { testServer } from '../server.ts'

test('an upload whose sender is removed from the workspace is refused at its last byte and not stored', async () => {
  await using server = await testServer()
  const [alice, bob] = [await server.person('Alice'), await server.person('Bob')]
  const { id: team } = (await alice.post('/workspaces', { name: 'Team' })).body.data
  const { token } = (await alice.post(`/workspaces/${team}/invitations`, { email: bob.email, role: 'member' })).body
    .data
  await bob.post('/invitations/accept', { token })
  const { key } = await bob.key()
  const form = (end: string) =>
    `--x\r\ncontent-disposition: form-data; name="workspace_id"\r\n\r\n${team}\r\n` +
    `--x\r\ncontent-disposition: form-data; name="file"; filename="late.txt"\r\n\r\nsome words${end}`
  const clientRequest = request(new URL('/v1/drive/files', server.origin), {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'multipart/form-data; boundary=x' },
  })
  const answer = new Promise<{ status: number; body: any }>((resolve, reject) => {
    clientRequest.once('error', reject)
    clientRequest.once(
      'response',
      (response) => void json(response).then((body) => resolve({ status: response.statusCode!, body }), reject),
    )
  })
  clientRequest.write(form(''))
  // Ensures arrival: a later call of the same key has been answered.
  assert.equal((await bob.get('/me')).status, 200)
  assert.equal((await alice.delete(`/workspaces/${team}/members/${bob.id}`)).status, 200)
  clientRequest.end(' and more\r\n--x--\r\n')
  const { status, body } = await answer
  assert.deepEqual([status, body.error?.type], [404, 'not_found'], JSON.stringify(body))
  assert.deepEqual((await alice.get(`/drive/files?workspace_id=${team}`)).body.data, [])
})
