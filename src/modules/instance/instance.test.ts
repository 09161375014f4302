import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testServer } from '#test/server.ts'
import { countFiles } from './count-files.ts'

test('an administrator sees the instance’s state and what needs fixing, and other users don’t', async () => {
  await using server = await testServer({
    environment: { SMTP_URL: 'smtp://somebody:hunter2@127.0.0.1:1', UK_NO_SUCH: 'x' },
  })
  const alice = await server.person('Alice')
  const bob = await server.person('Bob')
  const key = await alice.key()
  const { data } = (await alice.get('/v1/app/instance')).body
  assert.deepEqual([data.accounts, data.processes, data.mail, data.sign_up], [2, 1, true, 'open'])
  assert.match(data.versions.postgres, /^\d+\.\d+/)
  assert.ok(data.storage.database_bytes > 1e6)
  // With very many files they are counted every ten minutes.
  const { db, pool } = server.app.engine.postgres
  const now = new Date()
  const look = async (minutes: number) => (await countFiles(db, new Date(now.getTime() + minutes * 60_000), -2)).files
  const first = await look(0)
  await pool.query(`insert into blobs (sha256, size_bytes, place) values (repeat('f', 64), 3, 'nowhere')`)
  assert.deepEqual([await look(9), await look(11), (await countFiles(db)).files], [first, first + 1, first + 1])
  assert.deepEqual([data.queue.failed, data.last_backup], [0, null])

  const checked = await alice.post('/v1/app/instance/checks')
  assert.equal(checked.status, 200, checked.text)
  const found = new Map<string, any>(checked.body.data.checks.map((each: any) => [each.name, each]))
  assert.deepEqual(
    ['database', 'schema', 'files', 'server'].map((name) => found.get(name).status),
    ['ok', 'ok', 'ok', 'ok'],
  )
  assert.match(found.get('settings').message, /UK_NO_SUCH is not a setting/)
  assert.equal(found.get('mail').status, 'fail')
  assert.equal(found.get('backups').status, 'warn')
  assert.doesNotMatch(checked.text, /hunter2/)

  for (const by of [bob, key]) {
    assert.equal((await by.get('/v1/app/instance')).status, 403)
    assert.equal((await by.post('/v1/app/instance/checks')).status, 403)
  }
})
