import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Context } from '#infra/context.ts'
import { type Code, Refusal } from '#core/errors.ts'
import { serverWithAlice } from '#test/computers/world.ts'
import { linkUp } from '#test/link/daemon.ts'
import { pairedComputer } from '#test/makers.ts'
import { becomes } from '#test/until.ts'
import { dropUpload, keepUpload } from './drop-upload.ts'

const { server, alice } = await serverWithAlice()
const ctx = { engine: server.app.engine } as unknown as Context

/** Attempts of each pending job for a computer. */
async function tries(id: string): Promise<number[]> {
  const { rows } = await server.app.engine.postgres.pool.query<{ tries: number }>(
    `select (payload->>'tries')::int as tries from graphile_worker._private_jobs
    where key like 'computers.drop_upload:' || $1 || ':%' and locked_at is null`,
    [id],
  )
  return rows.map((row) => row.tries)
}

/** The computer's replies, and whether the job retries. `not_supported` comes from an earlier daemon. */
const answers: Readonly<Record<string, 'done' | 'again'>> = {
  removed: 'done',
  not_supported: 'done',
  not_found: 'done',
  capability_denied: 'done',
  concurrency_limited: 'again',
  timeout: 'again',
}

for (const [answer, then] of Object.entries(answers))
  test(`a computer that replies ${answer}: ${then}`, async () => {
    const { id, credential } = await pairedComputer(alice)
    let calls = 0
    using _linked = await linkUp(server.origin, credential, async ({ op }) => {
      if (op === 'fs.upload_drop') calls++
      if (answer !== 'removed') throw new Refusal(answer as Code)
      return {}
    })
    const upload = { computer_id: id, path: '/x', key: 'k' }
    await dropUpload(ctx, upload)
    await becomes(() => calls > 0, true)
    if (then === 'done') return becomes(() => tries(id), [])
    await becomes(async () => (await tries(id)).some((count) => count > 0), true)
    await keepUpload(ctx, upload)
    assert.deepEqual(await tries(id), [])
  })

test('dropping an upload twice adds one job, and deleting the computer removes it', async () => {
  const { id } = await pairedComputer(alice)
  const upload = { computer_id: id, path: '/x', key: 'k' }
  await dropUpload(ctx, upload)
  await dropUpload(ctx, upload)
  await becomes(async () => (await tries(id)).length, 1)
  assert.equal((await alice.delete(`/computers/${id}`)).status, 200)
  await becomes(() => tries(id), [])
})
