import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Refusal } from '#core/errors.ts'
import { CLOSE } from '#packages/mux/mux.ts'
import { linkUp } from '#test/link/daemon.ts'
import type { Answerer } from '#test/link/pair.ts'
import { pairedComputer } from '#test/makers.ts'
import { testServer } from '#test/server.ts'

const server = await testServer()
after(() => server[Symbol.asyncDispose]())
const alice = await server.person('Alice')

test('an upload whose offset keeps changing is retried with growing delays, then refused', async () => {
  const { id, credential } = await pairedComputer(alice)
  const bytes = Buffer.alloc(300_000, 7)
  const callTimes: number[] = []
  const staleAnswer: Answerer = ({ op }) => {
    if (op === 'fs.upload_offset') return Promise.resolve({ offset: 100_000 })
    callTimes.push(performance.now())
    return Promise.reject(new Refusal('stale_update', { details: { offset: 100_000 } }))
  }
  // The computer receives a part, then its link breaks.
  const first = await linkUp(server.origin, credential, async (_, stream) => {
    let receivedBytes = 0
    for await (const item of stream) if (item.type === 'bytes' && (receivedBytes += item.bytes.length) >= 200_000) break
    first.mux.close(CLOSE.restart, 'it breaks')
    return {}
  })
  const answer = alice.request('POST', `/computers/${id}/fs/upload?path=/tmp/file`, bytes, {
    'content-type': 'application/octet-stream',
  })
  await first.closed
  using _second = await linkUp(server.origin, credential, staleAnswer)
  const { status, body } = await answer
  assert.deepEqual([status, body.error.code], [503, 'interrupted'], JSON.stringify(body))
  assert.ok(callTimes.length > 2 && callTimes.length < 12, `${callTimes.length}`)
  // The delays double; without them, retries would follow immediately.
  assert.ok(callTimes.at(-1)! - callTimes[0]! > 1_000, callTimes.join())
})
