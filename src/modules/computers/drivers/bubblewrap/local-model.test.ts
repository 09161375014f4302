import assert from 'node:assert/strict'
import { chownSync, cpSync, mkdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import OpenAI from 'openai'
import { cloudsOf } from '#test/computers/cloud.ts'
import { testDatabase } from '#test/database.ts'
import { bringEngine, engineFolder } from '#test/local-inference/daemon.ts'
import { needs } from '#test/needs.ts'
import { testServer } from '#test/server.ts'
import { tinyGguf } from '#test/local-inference/tiny-gguf.ts'
import { until } from '#test/until.ts'
import { openHost } from '../host.ts'
import { run } from '../run.ts'

const there = (await run(['bwrap', '--version'])).code === 0
const database = await testDatabase()
const server = await testServer({ environment: { UK_COMPUTER_DRIVERS: 'bubblewrap' }, database })
const alice = await server.person('Alice')
const { make, ids, waitForEnd } = cloudsOf(() => alice)
after(async () => {
  const { folder } = openHost(database.dataDir)
  for (const id of ids) await alice.delete(`/computers/${id}`)
  const remains = () => server.app.engine.postgres.pool.query('select from cloud_remains')
  await until(remains, ({ rowCount }) => rowCount === 0)
  await server[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
  await database[Symbol.asyncDispose]()
})

test('a cloud computer serves a local model', needs(there, 'bubblewrap'), async () => {
  await bringEngine()
  const id = await make()
  const state = join(openHost(database.dataDir).folder, id, 'state')
  // As installed by npm on a computer with internet access.
  const local = join(state, 'local')
  mkdirSync(local, { recursive: true })
  cpSync(engineFolder, join(local, 'installed'), { recursive: true, verbatimSymlinks: true })
  const { uid, gid } = statSync(state)
  chownSync(local, uid, gid)

  const response = await alice.post(`/computers/${id}/local-inference`, { action: 'start', engine: 'llama' })
  assert.equal(response.status, 200, response.text)
  assert.equal(response.body.data.engines[0].status, 'running')
  const form = new FormData()
  form.set('workspace_id', alice.workspaceId)
  form.set('file', new Blob([new Uint8Array(tinyGguf().bytes)]), 'tiny.gguf')
  const { headers } = alice
  const uploaded = await fetch(`${server.origin}/v1/drive/files`, { method: 'POST', headers, body: form })
  const source = { file_id: ((await uploaded.json()) as any).data.id }
  const installation = await alice.post(`/computers/${id}/local-inference/models`, { name: 'tiny', source })
  assert.equal(installation.status, 202, installation.text)
  const operation = await waitForEnd(installation.body.data.id)
  assert.equal(operation.status, 'succeeded', JSON.stringify(operation.error))
  const { key } = await alice.key()
  const openai = new OpenAI({ apiKey: key, baseURL: `${server.origin}/compat-a/v1`, maxRetries: 0 })
  const answer = await openai.chat.completions.create({
    model: 'local/tiny',
    messages: [{ role: 'user', content: 'hello' }],
    max_tokens: 8,
  })
  assert.ok(answer.choices[0]!.message.content!.length > 0)
})
