import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testServer } from '#test/server.ts'

test('a run that failed is tried again with the model that alice names', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const { id } = (await alice.post('/chats', { model: 'sim/script' })).body.data
  const content = JSON.stringify({ steps: [{ error: { type: 'server_error', message: 'no paper' } }] })
  const failed = await alice.post(`/chats/${id}/messages`, { content })
  const at = `/chats/${id}/runs/${failed.body.error.details.run_id}/retry`
  const [unknown, sent] = await Promise.all(
    [at, `/chats/${id}/messages`].map((path) =>
      alice.post(path, { model: 'sim/none', ...(path !== at && { content: 'x' }) }),
    ),
  )
  assert.deepEqual([unknown!.status, unknown!.body.error], [sent!.status, sent!.body.error], 'as for a message')
  const again = await alice.post(at, { model: 'sim/echo' })
  assert.deepEqual(
    [again.status, again.body.data?.text, again.body.data?.model],
    [200, content, 'sim/echo'],
    again.text,
  )
  assert.equal(again.body.data.run.attempt, 2)
})
