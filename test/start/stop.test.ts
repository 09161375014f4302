// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Parts } from '#infra/processes/parts.ts'
import { startProgram, temporaryDir } from '../program.ts'
import { caller } from '../server.ts'

const csrf = { 'x-uk-csrf': '1' }
const alice = { email: 'alice@example.com', password: 'a long password' }

for (const workers of ['1', '2'])
  test(`a stop with UK_WORKERS=${workers} that takes too long reports what it waits for and exits with 1, without data loss`, async () => {
    using home = temporaryDir()
    const environment = { UK_DATA_DIR: home.path, UK_WORKERS: workers, UK_DRAIN_SECONDS: '0', UK_STOP_SECONDS: '3' }
    const program = startProgram(environment)
    const made = await caller(await program.ready, csrf).post('/auth/sign-up', { ...alice, name: 'Alice' })
    assert.equal(made.status, 201, made.text)
    const database = Number.parseInt(readFileSync(join(home.path, 'postgres/postmaster.pid'), 'utf8'), 10)
    try {
      // Who is stopped so takes no signal that asks it to end.
      process.kill(database, 'SIGSTOP')
      program.child.kill('SIGTERM')
      assert.equal(await program.exited, 1, program.output().stderr)
    } finally {
      process.kill(database, 'SIGCONT')
    }
    const said = program.output().stderr
    assert.match(said, /"waits_for":"the database","msg":"the server didn't stop in time and was killed"/)
    await using again = startProgram(environment)
    const signedIn = await caller(await again.ready, csrf).post('/auth/sign-in', alice)
    assert.equal(signedIn.status, 200, signedIn.text)
  })

test('parts are stopped in reverse order, and a slow one is reported by name', async () => {
  const order: string[] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  let running: Parts
  {
    await using parts = new Parts()
    parts.use('the first', { [Symbol.dispose]: () => void order.push('first') })
    parts.defer('the slow one', async () => {
      order.push('slow')
      await promise
    })
    parts.use('the last', { [Symbol.asyncDispose]: async () => void order.push('last') })
    running = parts.move()
  }
  assert.deepEqual([running.down, order], [null, []])
  const down = running[Symbol.asyncDispose]()
  while (order.length < 2) await Promise.resolve()
  assert.equal(running.down, 'the slow one')
  resolve()
  await down
  assert.deepEqual([running.down, order], [null, ['last', 'slow', 'first']])
})
