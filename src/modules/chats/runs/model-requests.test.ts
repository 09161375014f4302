import assert from 'node:assert/strict'
import { test } from 'node:test'
import { call, say, script } from '#test/chats/chats.ts'
import { type Person, testServer } from '#test/server.ts'
import { until } from '#test/until.ts'
import { zstdDecompressSync } from 'node:zlib'
import { PIECE } from '#core/json/json-pieces.ts'
import { newId } from '#core/ids.ts'
import { type ModelRequest, requestsOf, retainRequests, sealRequest } from './model-requests.ts'

const WORDS = 'The heron waits by the weir.'

/** A run of an agent that uploads a file and then says what it did; answers the chat, the run and its message. */
async function ran(alice: Person) {
  const agent = await alice.post('/agents', {
    name: 'Clerk',
    model: 'sim/script',
    tools: [{ name: 'drive.upload', policy: 'allow' }],
  })
  const chat = (await alice.post('/chats', { agent_id: agent.body.data.id })).body.data.id
  const upload = call('drive.upload', { name: 'heron.txt', content: WORDS, workspace_id: alice.workspaceId })
  const { run } = (
    await alice.post(`/chats/${chat}/messages`, { content: script([say('Wait. '), upload], [say(WORDS)]) })
  ).body.data
  await until(
    async () => (await alice.get(`/chats/${chat}/runs/${run.id}`)).body.data.status,
    (status: string) => status === 'completed',
  )
  const [, message] = (await alice.get(`/chats/${chat}/messages`)).body.data
  return { chat, run: run.id as string, message }
}

test('model requests and answers are stored sealed, can be replayed, and are deleted with their chat', async () => {
  await using server = await testServer()
  const { engine } = server.app
  const { pool } = engine.postgres
  const alice = await server.person('Alice')
  const { chat, run, message } = await ran(alice)
  const storedRequests = await requestsOf(engine, run, 1)
  assert.equal(storedRequests.length, 2)
  // Played again with what was kept alone: what was said, with the results that the next request carries, is the message.
  const parts = storedRequests.flatMap(({ answer }) => answer)
  assert.deepEqual(
    parts,
    message.content.filter(({ type }: { type: string }) => type !== 'tool_result'),
  )
  assert.deepEqual(
    storedRequests.map(({ request, finish_reason }) => [request.model, request.messages.length, finish_reason]),
    [
      ['sim/script', 1, 'tool_calls'],
      ['sim/script', 3, 'stop'],
    ],
  )
  assert.match(JSON.stringify(storedRequests[1]!.request.messages.at(-1)), /heron\.txt/)
  assert.deepEqual(
    storedRequests.map(({ request }) => request.tools?.map(({ name }) => name)),
    [['drive_upload'], ['drive_upload']],
  )
  const { rows } = await pool.query('select * from model_requests')
  assert.doesNotMatch(JSON.stringify(rows), /heron/i)

  await pool.query(`update model_requests set created_at = now() - interval '40 days' where index = $1`, [
    storedRequests[0]!.index,
  ])
  await retainRequests(engine.postgres.db, engine.config.requestRetentionDays)
  assert.deepEqual(
    (await requestsOf(engine, run, 1)).map(({ index }) => index),
    [storedRequests[1]!.index],
  )
  await alice.delete(`/chats/${chat}`)
  await alice.delete(`/chats/${chat}/permanent-delete`)
  assert.equal((await alice.get(`/chats/${chat}`)).status, 404)
  assert.equal((await pool.query('select from model_requests')).rowCount, 0)
})

test('with UK_REQUEST_RETENTION_DAYS=0 nothing is stored, and earlier requests are deleted', async () => {
  await using server = await testServer({ environment: { UK_REQUEST_RETENTION_DAYS: '0' } })
  const { engine } = server.app
  const { run } = await ran(await server.person('Alice'))
  assert.deepEqual(await requestsOf(engine, run, 1), [])
  await engine.postgres.pool.query(`insert into model_requests values ($1, $1, 1, 'x')`, [run])
  await retainRequests(engine.postgres.db, engine.config.requestRetentionDays)
  assert.equal((await engine.postgres.pool.query('select from model_requests')).rowCount, 0)
})

test('a large request is sealed in pieces between which other work runs; one of more than 16 MiB is not kept', async () => {
  await using server = await testServer()
  const { engine } = server.app
  const requestOf = (length: number): ModelRequest => ({
    request: {
      model: 'sim/echo',
      messages: Array.from({ length }, (_, n) => ({
        role: 'user',
        content: [{ type: 'text', text: `${n} "茶" 😀 `.repeat(10_000) }],
      })),
    },
    answer: [{ type: 'text', text: WORDS }],
    finish_reason: 'stop',
  })
  for (const length of [0, 1, 40]) {
    const modelRequest = requestOf(length)
    const text = JSON.stringify(modelRequest)
    let rounds = 0
    let next = setImmediate(function round() {
      rounds++
      next = setImmediate(round)
    })
    const { id, sealed } = (await sealRequest(engine, modelRequest, newId()))!
    clearImmediate(next)
    assert.ok(rounds >= Math.floor(text.length / (2 * PIECE)), `${rounds} rounds for ${text.length} characters`)
    const bytes = zstdDecompressSync(Buffer.from(engine.secrets.open(sealed, id), 'base64'))
    assert.equal(bytes.toString(), text)
  }
  assert.equal(await sealRequest(engine, requestOf(120), newId()), null)
})
