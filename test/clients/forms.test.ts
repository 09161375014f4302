import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testServer } from '#test/server.ts'

test('a form part for an object field is parsed as JSON, and other text is rejected with the field’s name', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const send = async (source: string) => {
    const form = new FormData()
    form.append('workspace_id', alice.workspaceId)
    form.append('computer_source', source)
    const { headers } = alice
    const response = await fetch(`${server.origin}/v1/drive/files`, { method: 'POST', headers, body: form })
    const { error } = (await response.json()) as { error: { type: string; param: string } }
    return [response.status, error.param]
  }
  const nobody = '01KAJ8R3T2M6QK5W9V0XBZC4DE'
  assert.equal((await send(JSON.stringify({ computer_id: nobody, path: '/notes.txt' })))[0], 404)
  assert.deepEqual(await send(JSON.stringify({ computer_id: nobody, path: 'notes.txt' })), [
    400,
    'computer_source.path',
  ])
  assert.deepEqual(await send('{"computer_id'), [400, 'computer_source'])
})
