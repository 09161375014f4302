// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { startProgram, temporaryDir } from '../program.ts'
import { caller } from '../server.ts'
import { until } from '../until.ts'

const uk = (environment: Record<string, string>, words: string[], input: string) =>
  spawnSync('sh', [join(import.meta.dirname, '../../bin/uk'), ...words], {
    input,
    encoding: 'utf8',
    env: { PATH: process.env.PATH, HOME: environment.UK_DATA_DIR, ...environment },
  })
const csrf = { 'x-uk-csrf': '1' }
const signIn = (origin: string, password: string) =>
  caller(origin, csrf).post('/auth/sign-in', { email: 'alice@example.com', password })

test('an operator resets a forgotten password on the host, whether the server is running or not', async () => {
  using dir = temporaryDir()
  const environment = { UK_DATA_DIR: dir.path }
  const reset = (password: string) =>
    uk(environment, ['admin', 'reset-password', 'alice@example.com', '--password-stdin'], password)
  {
    await using program = startProgram(environment)
    const origin = await program.ready
    const signUp = { email: 'alice@example.com', password: 'the first password', name: 'Alice' }
    const cookie = (await caller(origin, csrf).post('/auth/sign-up', signUp)).headers.get('set-cookie')!.split(';')[0]!
    const done = reset('the second password')
    assert.equal(done.status, 0, done.stderr)
    assert.equal((await signIn(origin, 'the first password')).status, 401)
    assert.equal((await signIn(origin, 'the second password')).status, 200)
    await until(
      () => caller(origin, { cookie }).get('/me'),
      ({ status }) => status !== 200,
    )
  }
  assert.equal(reset('the third password').status, 0)
  assert.equal(
    uk(environment, ['admin', 'reset-password', 'nobody@example.com', '--password-stdin'], 'a long password').status,
    3,
  )
  assert.equal(reset('short').status, 2)
  await using program = startProgram(environment)
  assert.equal((await signIn(await program.ready, 'the third password')).status, 200)
})
