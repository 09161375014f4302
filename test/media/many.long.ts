// Many jobs at once, and sound that is large: what takes minutes.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { testDatabase } from '#test/database.ts'
import { caller } from '#test/server.ts'
import { until } from '#test/until.ts'
import { serverElsewhere } from './elsewhere.ts'
import { openaiFor, studioServer } from './studio.ts'
import { ended } from '../operations/ended.ts'

const MANY = 200

test(
  `${MANY} concurrent videos survive a crash of the submitting server and are submitted once each`,
  { timeout: 600_000 },
  async (t) => {
    const database = await testDatabase()
    t.after(() => database[Symbol.asyncDispose]())
    const first = await studioServer({ database })
    const alice = await first.person('Alice')
    await using vendor = await openaiFor(alice)
    await first[Symbol.asyncDispose]()
    const { child, origin } = await serverElsewhere(database)
    const there = caller(origin, alice.headers)
    const ids = await Promise.all(
      Array.from({ length: MANY }, async (_, i) => {
        const body = { model: 'studio/sora-2', prompt: `Video ${i}`, seconds: 4, size: '720x1280' }
        const answer = await there.post('/inference/videos', body)
        assert.equal(answer.status, 202, answer.text)
        return answer.body.data.id as string
      }),
    )
    await until(
      () => Promise.resolve(vendor.jobs.length),
      (jobs) => jobs >= MANY / 2,
    )
    child.kill('SIGKILL')
    await once(child, 'exit')
    await using second = await studioServer({ database })
    const again = caller(second.origin, alice.headers)
    const states: Record<string, number> = {}
    for (const id of ids) {
      const { status, error } = await ended(again, id)
      const state = status === 'failed' ? String(error.code) : String(status)
      states[state] = (states[state] ?? 0) + 1
    }
    const { succeeded = 0, outcome_unknown: unknown = 0 } = states
    assert.equal(succeeded + unknown, MANY, JSON.stringify(states))
    // Only those that were on their way at that moment.
    assert.ok(unknown < MANY / 2, JSON.stringify(states))
    const twice = vendor.submits().filter(({ path, at }) => path === '/v1/videos' && at.length > 1)
    assert.deepEqual(twice, [])
    const { pool } = second.app.engine.postgres
    const { rows } = await pool.query<{ calls: number }>('select count(*)::int as calls from calls')
    assert.equal(rows[0]!.calls, MANY)
    t.diagnostic(JSON.stringify(states))
  },
)

/** The most memory that a process has had, in MB. */
const peakOf = (pid: number): number =>
  Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024

test('100 MB of audio are transcribed without being held in memory', { timeout: 300_000 }, async (t) => {
  const database = await testDatabase()
  t.after(() => database[Symbol.asyncDispose]())
  const first = await studioServer({ database })
  const alice = await first.person('Alice')
  await using vendor = await openaiFor(alice)
  await first[Symbol.asyncDispose]()
  const { child, origin } = await serverElsewhere(database)
  const sound = wave(100 << 20)
  const send = async (bytes: Buffer): Promise<number> => {
    const form = new FormData()
    form.append('model', 'studio/whisper-1')
    form.append('file', new Blob([Uint8Array.from(bytes)]), 'sound.wav')
    const answer = await fetch(`${origin}/v1/inference/transcriptions`, {
      method: 'POST',
      headers: alice.headers,
      body: form,
    })
    const text = await answer.text()
    // The vendor takes less than that; what counts is that it got there.
    assert.ok([200, 400, 413].includes(answer.status), text)
    return answer.status
  }
  await send(wave(1 << 20))
  const before = peakOf(child.pid!)
  await send(sound)
  const more = peakOf(child.pid!) - before
  t.diagnostic(`${Math.round(more)} MB more, ${Math.round(before)} before`)
  assert.ok(more < 200, `${more} MB`)
  const largest = Math.max(...vendor.requests.map(({ body }) => body.length))
  t.diagnostic(`the vendor got ${largest} bytes`)
  child.kill('SIGKILL')
  await once(child, 'exit')
})

/** Plain samples of 16 kHz, one channel, in a WAV of so many bytes (RIFF). */
function wave(size: number): Buffer {
  const bytes = Buffer.alloc(size)
  bytes.write('RIFF', 0, 'latin1')
  bytes.writeUInt32LE(size - 8, 4)
  bytes.write('WAVEfmt ', 8, 'latin1')
  bytes.writeUInt32LE(16, 16)
  bytes.writeUInt16LE(1, 20)
  bytes.writeUInt16LE(1, 22)
  bytes.writeUInt32LE(16_000, 24)
  bytes.writeUInt32LE(32_000, 28)
  bytes.writeUInt16LE(2, 32)
  bytes.writeUInt16LE(16, 34)
  bytes.write('data', 36, 'latin1')
  bytes.writeUInt32LE(size - 44, 40)
  for (let at = 44; at + 1 < size; at += 2) bytes.writeInt16LE(((at * 37) % 2_000) - 1_000, at)
  return bytes
}
