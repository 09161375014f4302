import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { feed } from './feed.ts'

const parts = (amount: number): Readable => Readable.from(Array.from({ length: amount }, () => Buffer.alloc(65_536)))

test('a program that stops reading early succeeds, and the rest is discarded', async () => {
  for (const count of [0, 1, 100_000]) {
    const child = spawn('head', ['-c', String(count)], { stdio: ['pipe', 'ignore', 'inherit'] })
    const closed = once(child, 'close')
    const from = parts(200)
    await feed(from, child.stdin)
    assert.equal(from.readableEnded, true)
    assert.deepEqual(await closed, [0, null])
  }
})

test('a broken source is reported, and the program doesn’t wait for more input', async () => {
  const child = spawn('cat', { stdio: ['pipe', 'ignore', 'inherit'] })
  const closed = once(child, 'close')
  const from = Readable.from(
    (async function* () {
      yield Buffer.alloc(65_536)
      throw new Error('the store is away')
    })(),
  )
  await assert.rejects(feed(from, child.stdin), /the store is away/)
  child.stdin.destroy()
  await closed
  const program = spawn('cat', { stdio: ['pipe', 'ignore', 'inherit'] })
  const source = parts(200)
  const feeding = feed(source, program.stdin)
  source.destroy()
  await assert.rejects(feeding, /broke off/)
  program.kill()
})
