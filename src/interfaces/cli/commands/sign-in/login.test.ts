import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { program, ranBy } from '#test/cli/uk.ts'
import { temporaryDir } from '#test/program.ts'
import { testServer } from '#test/server.ts'

const server = await testServer()
after(() => server[Symbol.asyncDispose]())
const PASSWORD = 'a long password'

/** Runs `uk` in the home of one user. */
const ukIn =
  (home: string) =>
  (words: readonly string[], env: Record<string, string> = {}) =>
    ranBy(spawn(program, words, { env: { PATH: process.env.PATH!, HOME: home, ...env } }), `${PASSWORD}\n`)

const signUp = (email: string): string[] => [
  'sign-up',
  '--origin',
  server.origin,
  '--email',
  email,
  '--name',
  'Ada',
  '--password-stdin',
]
const login = (email: string): string[] => ['login', '--origin', server.origin, '--email', email, '--password-stdin']

test('sign-up and login warn about variables that override the new login', async () => {
  using home = temporaryDir()
  const uk = ukIn(home.path)
  const { key } = await (await server.person('Grace')).key()
  const signedUp = await uk(signUp('ada@example.com'), { UK_KEY: key })
  assert.equal(signedUp.code, 0, signedUp.err)
  const loggedIn = await uk(login('ada@example.com'), { UK_KEY: key, UK_ORIGIN: 'http://127.0.0.1:9' })
  for (const { err, out } of [signedUp, loggedIn]) {
    assert.match(err, /^UK_KEY is set and overrides this login\. To use the login, run: unset UK_KEY$/m)
    assert.equal(out, '')
    assert.ok(!err.includes(key))
  }
  assert.doesNotMatch(signedUp.err, /UK_ORIGIN/)
  assert.match(loggedIn.err, /^UK_ORIGIN is set to http:\/\/127\.0\.0\.1:9 and overrides .*unset UK_ORIGIN$/m)
  const plain = await uk(login('ada@example.com'), { UK_KEY: '', UK_ORIGIN: `${server.origin}/` })
  assert.doesNotMatch(plain.err, /is set/)
})

test('sign-up and login name the login they replace', async () => {
  using home = temporaryDir()
  await using other = await testServer()
  const uk = ukIn(home.path)
  const first = await uk(signUp('first@example.com'))
  assert.equal(first.code, 0, first.err)
  assert.doesNotMatch(first.err, /replacing/i)
  const { key } = JSON.parse(readFileSync(join(home.path, '.config/ukiyo/credentials.json'), 'utf8'))
  const second = await uk(signUp('second@example.com'))
  assert.match(
    second.err,
    new RegExp(`^Replacing the login of first@example\\.com on ${server.origin}\\. Its API key`, 'm'),
  )
  const still = await fetch(`${server.origin}/v1/me`, { headers: { authorization: `Bearer ${key}` } })
  assert.equal(still.status, 200, 'the key of the other account stays valid')
  assert.doesNotMatch((await uk(login('Second@Example.com'))).err, /replacing/i)
  assert.match((await uk(login('first@example.com'))).err, /replacing the login of second@example\.com on/i)
  const words = signUp('first@example.com').map((word) => (word === server.origin ? other.origin : word))
  assert.match((await uk(words)).err, new RegExp(`Replacing the login of first@example\\.com on ${server.origin}`))
})
