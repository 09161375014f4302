// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { bring } from '../endpoints/house.ts'
import { mailbox } from '../outside/mailbox.ts'
import { temporaryDir } from '../program.ts'
import { testServer } from '../server.ts'
import { hostOf, uk } from './backup.ts'

interface Told {
  ok: boolean
  checks: { name: string; status: string; message: string; advice?: string }[]
}

const ask = async (
  environment: Record<string, string>,
): Promise<{ status: number | null; told: Told; of: (name: string) => Told['checks'][number] }> => {
  const { status, stdout, stderr } = await uk(environment, ['doctor', '--json'])
  assert.match(stdout.toString(), /^\{/, stderr)
  const told = JSON.parse(stdout.toString()) as Told
  return { status, told, of: (name) => told.checks.find((check) => check.name === name)! }
}

test('the doctor passes a healthy instance and reports what is wrong with another', async () => {
  using dir = temporaryDir()
  await using box = await mailbox()
  await using server = await testServer()
  const alice = await server.person('Alice')
  // Its models are given, so the server doesn't ask it for them, and what the test says of it stays.
  await bring(alice, { origin: 'https://api.example.com', key: 'sk-0123456789' }, 'mine', {
    models: [{ id: 'own' }],
    test: false,
  })
  const { pool } = server.app.engine.postgres
  const host = hostOf(server.database, { UK_PUBLIC_URL: server.origin, SMTP_URL: box.url })

  const well = await ask(host)
  assert.equal(well.status, 0, JSON.stringify(well.told))
  assert.deepEqual(
    well.told.checks.filter(({ status }) => status !== 'ok').map(({ name, status }) => [name, status]),
    [['backups', 'warn']],
  )
  assert.match(well.of('server').message, /1 server process is running/)
  assert.match(well.of('public url').message, /reaches a Ukiyo server/)
  assert.equal((await uk(host, ['backup', '--to', join(dir.path, 'ukiyo.tar')])).status, 0)
  assert.equal((await ask(host)).of('backups').status, 'ok')
  await pool.query(`update instance set value = value || '{"at":"2026-01-01T00:00:00Z"}' where name = 'backup'`)
  assert.match((await ask(host)).of('backups').message, /The last backup is \d+ days old/)

  // For a person: a line each, with what would help below.
  const shown = await uk(host, ['doctor'])
  assert.match(
    shown.stdout.toString(),
    /✔ database {4}PostgreSQL \d+[\s\S]*! backups[\s\S]*every night[\s\S]*0 failed, 1 warning\./,
  )

  await pool.query(`update provider_connections set status = 'failing', reason = 'upstream_key'`)
  assert.match((await ask(host)).of('providers').message, /\(rejected its API key\)/)

  const secret = join(server.database.dataDir, 'secret-key')
  writeFileSync(secret, 'another root key, of another instance altogether')
  chmodSync(secret, 0o600)
  rmSync(join(server.database.dataDir, 'blobs'), { recursive: true, force: true })
  writeFileSync(join(server.database.dataDir, 'blobs'), 'not a folder')
  const ill = await ask({
    ...host,
    UK_PUBLIC_URL: 'http://127.0.0.1:1',
    SMTP_URL: 'smtp://127.0.0.1:1',
    UK_TYPO: '1',
    UK_BUS: 'nats://127.0.0.1:1',
  })
  assert.equal(ill.status, 1)
  assert.equal(ill.told.ok, false)
  for (const name of ['root key', 'files', 'mail', 'public url', 'bus']) assert.equal(ill.of(name).status, 'fail', name)
  assert.match(ill.of('root key').message, /1 stored secret can't be decrypted/)
  assert.match(ill.of('settings').message, /UK_TYPO/)
  for (const { status, advice } of ill.told.checks) assert.equal(advice === undefined, status === 'ok')
})

test('for an unreachable database the doctor says what to check, without its password', async () => {
  using dir = temporaryDir()
  mkdirSync(join(dir.path, 'data'), { mode: 0o700 })
  const { status, told, of } = await ask({
    UK_DATA_DIR: join(dir.path, 'data'),
    DATABASE_URL: 'postgres://ukiyo:hunter2@127.0.0.1:1/ukiyo',
  })
  assert.equal(status, 1)
  assert.equal(of('database').status, 'fail')
  assert.equal(of('schema'), undefined)
  assert.doesNotMatch(JSON.stringify(told), /hunter2/)
})
