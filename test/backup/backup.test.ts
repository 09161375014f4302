// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { mkdir, readFile, readdir, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { sweepBlobs } from '#infra/blobs/sweep.ts'
import { holdBlobs } from '#infra/blobs/hold.ts'
import pg from 'pg'
import { testDatabase } from '../database.ts'
import { upload } from '../drive/drive.ts'
import { makers } from '../makers.ts'
import { temporaryDir } from '../program.ts'
import { caller, testRootKey, testServer } from '../server.ts'
import { until } from '../until.ts'
import { startS3 } from '../vendors/s3/s3.ts'
import { hostOf, keylessHostOf, tableHashes, uk } from './backup.ts'

const hashOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

test('an instance with every kind of data is backed up and restored with identical rows and bytes', async () => {
  using dir = temporaryDir()
  await using server = await testServer()
  const alice = await server.person('Alice')
  const team = (await alice.post('/workspaces', { name: 'Team' })).body.data.id
  for (const [kind, make] of Object.entries(makers))
    if (!['computer', 'upload', 'operation'].includes(kind)) await make(alice, team)
  const files: [id: string, hash: string][] = []
  for (const size of [0, 1, 5_000, 3 << 20]) {
    const bytes = randomBytes(size)
    const made = await upload(alice, { workspace_id: team }, bytes, `${size}.bin`)
    assert.equal(made.status, 201, made.text)
    files.push([made.body.data.id, hashOf(bytes)])
  }
  const chat = await makers.chat!(alice, team)
  const answered = await alice.post(`/chats/${chat}/messages`, { content: 'a tab\t, a \\N and “é”', model: 'sim/echo' })
  assert.equal(answered.status, 200, answered.text)
  const key = await alice.key()
  await server.app[Symbol.asyncDispose]()

  const to = join(dir.path, 'backups')
  const made = await uk(hostOf(server.database), ['backup', '--to', to, '--json'])
  assert.equal(made.status, 0, made.stderr)
  const said = JSON.parse(made.stdout.toString())
  assert.ok(said.files >= 4 && said.rows > 50, made.stdout.toString())
  const before = await tableHashes(server.database)

  await using database = await testDatabase()
  const restored = await uk(hostOf(database), ['restore', to, '--resume'])
  assert.equal(restored.status, 0, restored.stderr)
  const touched = { blobs: ['used_at'], search_rows: [] }
  assert.deepEqual(await tableHashes(database, touched), await tableHashes(server.database, touched))
  assert.notDeepEqual(before, {})

  await using again = await testServer({ database })
  const holder = caller(again.origin, { authorization: `Bearer ${key.key}` })
  for (const [id, hash] of files) {
    const response = await fetch(`${again.origin}/v1/drive/files/${id}`, { headers: holder.headers })
    assert.equal(hashOf(new Uint8Array(await response.arrayBuffer())), hash)
  }
  // It goes on where it was: numbers that were given are not given again.
  const next = await holder.post(`/chats/${chat}/messages`, { content: 'and on', model: 'sim/echo' })
  assert.equal(next.status, 200, next.text)
})

test('a backup during writes is one consistent snapshot, and the old key decrypts its secrets', async () => {
  using dir = temporaryDir()
  await using server = await testServer({ environment: { UK_LIMIT_WRITES: '0' } })
  const alice = await server.person('Alice')
  await makers.provider_endpoint!(alice, alice.workspaceId)
  const enough = new AbortController()
  let written = 0
  const writer = async (): Promise<void> => {
    while (!enough.signal.aborted) {
      const mine = (written += 1)
      const name = `${mine}.bin`
      const made = await upload(alice, { workspace_id: alice.workspaceId }, randomBytes(20_000), name)
      assert.equal(made.status, 201, made.text)
      if (mine % 3 === 0) {
        const { id } = made.body.data
        await alice.delete(`/drive/files/${id}`)
        await alice.delete(`/drive/files/${id}/permanent-delete`)
        // What nobody has any more goes at once, as it would after an hour.
        await sweepBlobs(server.app.engine, { graceMinutes: 0 })
      }
    }
  }
  const writers = [writer(), writer()]
  const to = join(dir.path, 'ukiyo.tar')
  await until(
    async () => written,
    (n) => n > 20,
  )
  const made = await uk(hostOf(server.database), ['backup', '--to', to, '--json'])
  const during = written
  enough.abort()
  await Promise.all(writers)
  assert.equal(made.status, 0, made.stderr)
  assert.deepEqual(JSON.parse(made.stdout.toString()).missing, [])
  assert.ok(during > 20)

  await using database = await testDatabase()
  const restored = await uk(hostOf(database), ['restore', to])
  assert.equal(restored.status, 0, restored.stderr)
  await using again = await testServer({ database })
  const { postgres, blobs, secrets } = again.app.engine
  const { rows } = await postgres.pool.query<{ sha256: string; place: string }>(
    'select b.sha256, b.place from files f join blobs b using (sha256)',
  )
  assert.ok(rows.length > 10, String(rows.length))
  for (const { sha256, place } of rows)
    assert.equal(hashOf(Buffer.concat(await Array.fromAsync(blobs.read(place)))), sha256)
  const { rows: sealed } = await postgres.pool.query('select id, sealed_key from provider_endpoints')
  assert.equal(sealed.length, 1)
  const listed = await postgres.pool.query('select count(*)::int as n from files')
  assert.equal(listed.rows[0].n, rows.length, 'every file has its bytes')
  assert.ok(secrets)
})

test('an interrupted backup isn’t listed, and a modified one isn’t restored', async () => {
  using dir = temporaryDir()
  await using server = await testServer()
  const alice = await server.person('Alice')
  await upload(alice, { workspace_id: alice.workspaceId }, randomBytes(100_000), 'one.bin')
  const host = hostOf(server.database)
  const to = join(dir.path, 'ukiyo.tar')
  assert.equal((await uk(host, ['backup', '--to', to])).status, 0)
  await using empty = await testDatabase()
  const refused = async (path: string, words: RegExp): Promise<void> => {
    const ended = await uk(hostOf(empty), ['restore', path])
    assert.equal(ended.status, 1, path)
    assert.match(ended.stderr, words)
    assert.deepEqual(await tableHashes(empty), nothing)
  }
  const nothing = await tableHashes(empty)
  const whole = await readFile(to)
  const copy = join(dir.path, 'copy.tar')
  for (const length of [0, 700, whole.length >> 1, whole.length - 3_000]) {
    await writeFile(copy, whole)
    await truncate(copy, length)
    await refused(copy, /isn’t a complete backup.*manifest\.json/)
  }
  const at = whole.indexOf('blobs/')
  const damaged = Buffer.from(whole)
  damaged[at + 512 + 10]! ^= 1
  await writeFile(copy, damaged)
  await refused(copy, /the content of file [0-9a-f]{64} in this backup is damaged/)
  const table = Buffer.from(whole)
  table[whole.indexOf('database/accounts') + 512 + 30]! ^= 1
  await writeFile(copy, table)
  await refused(copy, /database\/accounts\.1\.copy\.zst in this backup is damaged/)
  const newer = Buffer.from(whole.toString('latin1').replace('"format":1,', '"format":9,'), 'latin1')
  await writeFile(copy, newer)
  await refused(copy, /the manifest of .* is damaged/)
  await refused(join(dir.path, 'nothing'), /doesn’t exist/)
  await writeFile(copy, 'something else entirely, '.repeat(100))
  await refused(copy, /isn’t a Ukiyo backup/)

  // Nothing is overwritten, neither a file nor an instance.
  const over = await uk(host, ['backup', '--to', to])
  assert.equal(over.status, 1)
  assert.match(over.stderr, /already exists/)
  await server.app[Symbol.asyncDispose]()
  const full = await uk(host, ['restore', to])
  assert.equal(full.status, 1)
  assert.match(full.stderr, /the table "\w+" isn’t empty, and a restore doesn’t overwrite data/)
  const dry = await uk(hostOf(empty), ['restore', to, '--dry-run', '--json'])
  assert.equal(dry.status, 0, dry.stderr)
  assert.equal(JSON.parse(dry.stdout.toString()).whole, true)
  assert.deepEqual(await tableHashes(empty), nothing)
})

test('the root key isn’t included, or is encrypted with a passphrase that must be correct', async () => {
  using dir = temporaryDir()
  await using server = await testServer()
  const alice = await server.person('Alice')
  await makers.provider_endpoint!(alice, alice.workspaceId)
  const host = hostOf(server.database)
  const [plain, keyed] = [join(dir.path, 'plain.tar'), join(dir.path, 'keyed.tar')]
  assert.match((await uk(host, ['backup', '--to', plain])).stderr, /The backup doesn't include the root key/)
  const short = await uk({ ...host, UK_BACKUP_PASSPHRASE: 'short' }, ['backup', '--to', keyed, '--with-key'])
  assert.match(short.stderr, /at least 12 characters/)
  const unasked = await uk(host, ['backup', '--to', keyed, '--with-key'])
  assert.deepEqual(
    [unasked.status, /--passphrase-file is required when there is no terminal/.test(unasked.stderr)],
    [2, true],
  )
  const passphrase = 'correct horse battery'
  const made = await uk(host, ['backup', '--to', keyed, '--with-key', '--passphrase-file', '-'], { input: passphrase })
  assert.equal(made.status, 0, made.stderr)
  for (const path of [plain, keyed])
    assert.equal((await readFile(path)).includes(testRootKey), false, 'the key is nowhere as it is')

  await using database = await testDatabase()
  const keyless = keylessHostOf(database)
  const without = await uk(keyless, ['restore', plain])
  assert.equal(without.status, 1)
  assert.match(
    without.stderr,
    /the root key of this backup isn't on this host .* lose 1 in provider_endpoints\.sealed_key/,
  )
  const wrong = await uk({ ...keyless, UK_BACKUP_PASSPHRASE: 'another horse battery' }, ['restore', keyed])
  assert.match(wrong.stderr, /passphrase of this backup’s root key is wrong/)
  assert.match((await uk(keyless, ['restore', keyed])).stderr, /includes its root key, encrypted with a passphrase/)
  const right = await uk({ ...keyless, UK_BACKUP_PASSPHRASE: passphrase }, ['restore', keyed])
  assert.equal(right.status, 0, right.stderr)
  const file = join(database.dataDir, 'secret-key')
  assert.equal(await readFile(file, 'utf8'), testRootKey)
  assert.equal((await stat(file)).mode & 0o777, 0o600)

  await using other = await testDatabase()
  const lost = await uk(keylessHostOf(other), ['restore', plain, '--without-key'])
  assert.equal(lost.status, 0, lost.stderr)
  assert.match(lost.stderr, /encrypted data is lost: 1 in provider_endpoints\.sealed_key/)
})

test('a backup folder stores each file’s bytes once and keeps only the newest backups', async () => {
  using dir = temporaryDir()
  await using server = await testServer()
  const alice = await server.person('Alice')
  const host = hostOf(server.database)
  const to = join(dir.path, 'backups')
  const backUp = async (...more: string[]): Promise<string> => {
    const made = await uk(host, ['backup', '--to', to, ...more])
    assert.equal(made.status, 0, made.stderr)
    return made.stdout.toString().trim()
  }
  const blobs = async (): Promise<number> =>
    (await readdir(join(to, 'blobs'), { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile())
      .length
  const file = await upload(alice, { workspace_id: alice.workspaceId }, randomBytes(1_000), 'one.bin')
  const first = await backUp()
  assert.equal(await blobs(), 1)
  await alice.delete(`/drive/files/${file.body.data.id}`)
  await alice.delete(`/drive/files/${file.body.data.id}/permanent-delete`)
  await sweepBlobs(server.app.engine, { graceMinutes: 0 })
  await upload(alice, { workspace_id: alice.workspaceId }, randomBytes(1_000), 'two.bin')
  await until(
    async () => new Date().getTime(),
    (now) => Math.floor(now / 1000) > seconds(first),
  )
  const second = await backUp()
  assert.equal(await blobs(), 2)
  // A killed one has left its beginning.
  await writeFile(join(to, 'blobs', 'incoming-x'), 'half')
  await until(
    async () => new Date().getTime(),
    (now) => Math.floor(now / 1000) > seconds(second),
  )
  const third = await backUp('--keep', '2')
  assert.deepEqual((await readdir(to)).toSorted(), [
    ...[second, third].map((path) => path.split('/').at(-1)!),
    'blobs',
    'instance',
  ])
  assert.equal(await blobs(), 1)
  await rm(join(third, 'manifest.json'))
  await using database = await testDatabase()
  const restored = await uk(hostOf(database), ['restore', to])
  assert.equal(restored.status, 0, restored.stderr)
})

/** The second that the name of a backup's folder says. */
function seconds(path: string): number {
  const [, y, m, d, h, min, s] = /(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(path)!.map(Number)
  return Date.UTC(y!, m! - 1, d, h, min, s) / 1000
}

test('content being backed up isn’t deleted, and backups run one at a time', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const file = await upload(alice, { workspace_id: alice.workspaceId }, randomBytes(1_000), 'one.bin')
  await alice.delete(`/drive/files/${file.body.data.id}`)
  await alice.delete(`/drive/files/${file.body.data.id}/permanent-delete`)
  const client = new pg.Client(server.database.connection)
  await client.connect()
  assert.equal(await holdBlobs(client, 0), true)
  const second = new pg.Client(server.database.connection)
  await second.connect()
  assert.equal(await holdBlobs(second, 0), false)
  await second.end()
  assert.equal((await sweepBlobs(server.app.engine, { graceMinutes: 0 })).unreferenced, 0)
  await client.end()
  const { unreferenced } = await until(
    () => sweepBlobs(server.app.engine, { graceMinutes: 0 }),
    (swept) => swept.unreferenced > 0,
  )
  assert.equal(unreferenced, 1)
})

test('a backup waiting for another one doesn’t touch its partial files', async () => {
  using dir = temporaryDir()
  await using server = await testServer()
  const to = join(dir.path, 'backups')
  const begun = join(to, '20260101T000000Z.partial')
  await mkdir(begun, { recursive: true })
  await mkdir(join(to, 'blobs'))
  await writeFile(join(begun, 'files.1.list.zst'), 'the other one wrote this')
  await writeFile(join(to, 'blobs', 'incoming-x'), 'and this')
  const client = new pg.Client(server.database.connection)
  await client.connect()
  assert.equal(await holdBlobs(client, 0), true)
  const second = uk(hostOf(server.database), ['backup', '--to', to])
  const asking = `select from pg_stat_activity where application_name = 'ukiyo backup' and query like '%pg_try_advisory_lock%'`
  await until(
    () => server.app.engine.postgres.pool.query(asking),
    ({ rowCount }) => rowCount === 1,
  )
  assert.deepEqual((await readdir(begun)).concat(await readdir(join(to, 'blobs'))), ['files.1.list.zst', 'incoming-x'])
  await client.end()
  // Now nobody makes it, so it was left by one that was killed.
  const ended = await second
  assert.equal(ended.status, 0, ended.stderr)
  assert.deepEqual((await readdir(to)).toSorted(), [
    ended.stdout.toString().trim().split('/').at(-1),
    'blobs',
    'instance',
  ])
})

test('files are backed up from a bucket and to a bucket', async () => {
  using dir = temporaryDir()
  await using s3 = await startS3()
  const bucket = {
    UK_BLOBS: `s3://${s3.bucket}/ukiyo/blobs`,
    UK_S3_ENDPOINT: s3.origin,
    AWS_ACCESS_KEY_ID: s3.accessKeyId,
    AWS_SECRET_ACCESS_KEY: s3.secretAccessKey,
    AWS_REGION: s3.region,
  }
  await using server = await testServer({ environment: bucket })
  const alice = await server.person('Alice')
  const key = await alice.key()
  const bytes = randomBytes(50_000)
  const file = await upload(alice, { workspace_id: alice.workspaceId }, bytes, 'one.bin')
  const to = join(dir.path, 'ukiyo.tar')
  const made = await uk(hostOf(server.database, bucket), ['backup', '--to', to])
  assert.equal(made.status, 0, made.stderr)
  for (const environment of [{}, bucket]) {
    await using database = await testDatabase()
    const restored = await uk(hostOf(database, environment), ['restore', to])
    assert.equal(restored.status, 0, restored.stderr)
    await using again = await testServer({ database, environment })
    const response = await fetch(`${again.origin}/v1/drive/files/${file.body.data.id}`, {
      headers: { authorization: `Bearer ${key.key}` },
    })
    assert.equal(hashOf(new Uint8Array(await response.arrayBuffer())), hashOf(bytes))
  }
})
