// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { attacks } from '#test/drive/hostile-documents.ts'
import { pdfOf } from '#test/drive/documents.ts'
import { upload } from '#test/drive/drive.ts'
import { testServer } from '#test/server.ts'
import { readDocument } from './read.ts'
import { createDocumentReader } from './reader.ts'

test('a document that took too long is tried once by all processes for a week or until the reader changes', async () => {
  await using server = await testServer()
  await using twin = await server.twin()
  await using documents = createDocumentReader({ timeMs: 200 })
  const bytes = await attacks.pdf['too many pages']!()
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  let loadCount = 0
  const ask = ({ app }: typeof server) => {
    const load = () => {
      loadCount += 1
      return { kind: 'pdf' as const, bytes }
    }
    const { postgres } = app.engine
    return assert.rejects(readDocument({ documents, postgres }, { account: 'alice', kind: 'pdf', sha256, load }), {
      name: 'Unreadable',
      reason: 'too_slow',
    })
  }
  await Promise.all([ask(server), ask(server), ask(server), ask(twin)])
  // Two processes read it concurrently, or the later one already knew the result.
  const turns = loadCount
  assert.ok(turns === 1 || turns === 2, `${turns} turns: who waits for one learns of it`)
  await ask(twin)
  assert.equal(loadCount, turns)
  const { pool } = server.app.engine.postgres
  await pool.query(`update slow_documents set at = now() - interval '8 days'`)
  await ask(twin)
  assert.equal(loadCount, turns + 1)
  await pool.query('update slow_documents set reader = 0')
  await ask(server)
  assert.equal(loadCount, turns + 2)
})

test('forty slow documents of one account don’t delay another account’s small one', async () => {
  await using server = await testServer({ environment: { UK_LIMIT_WRITES: '0', UK_LIMIT_READS: '0' } })
  const [mallory, bob] = [await server.person('Mallory'), await server.person('Bob')]
  const his = (await upload(bob, { workspace_id: bob.workspaceId }, pdfOf(['Hello Bob']), 'a.pdf')).body.data.id
  const pages = Array.from({ length: 8_000 }, (_, i) => `${i}`)
  const hers: string[] = []
  for (let i = 0; i < 40; i++) {
    const bytes = pdfOf([`this is ${i}`, ...pages])
    const response = await upload(mallory, { workspace_id: mallory.workspaceId }, bytes, `${i}.pdf`)
    assert.equal(response.status, 201, response.text)
    hers.push(response.body.data.id)
  }
  let over = 0
  const requests = hers.map(async (id) => {
    const { status } = await mallory.get(`/drive/files/${id}/content`).catch(() => ({ status: 0 }))
    if (status !== 503) over += 1
  })
  const answer = await bob.get(`/drive/files/${his}/content`)
  assert.deepEqual([answer.status, answer.body.data?.lines[0]?.text], [200, 'Hello Bob'], answer.text)
  assert.ok(over <= 2, `${over} of hers came before`)
  await server[Symbol.asyncDispose]()
  await Promise.all(requests)
})
