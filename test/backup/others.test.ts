// Thorough: run by the merge check, or by name.
/** Backups that somebody else has made, or changed: another instance, a newer program, an older one, a hand. */
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import pg from 'pg'
import { inOrder, quoteIdentifier, sequencesOf, tablesOf } from '#infra/backup/database.ts'
import { writeManifest } from '#infra/backup/layout/manifest.ts'
import { openTarget } from '#infra/backup/layout/target.ts'
import { migrate } from '#infra/postgres/migrate.ts'
import { type TestDatabase, bareDatabase, testDatabase } from '../database.ts'
import { upload } from '../drive/drive.ts'
import { temporaryDir } from '../program.ts'
import { caller, testRootKey, testServer } from '../server.ts'
import { hostOf, uk } from './backup.ts'

/** A database from before the migrations were folded, with a row in every table. */
const fixture = join(import.meta.dirname, '../infra/fixtures/before-folding.sql.gz')

test('two instances share a backup folder: neither deletes the other’s backups, and a restore requires choosing one', async () => {
  using dir = temporaryDir()
  await using one = await testServer()
  await using other = await testServer()
  const to = join(dir.path, 'backups')
  const bytes = randomBytes(2_000)
  for (const server of [one, other]) {
    const alice = await server.person('Alice')
    await upload(alice, { workspace_id: alice.workspaceId }, bytes, 'same.bin')
  }
  const backUp = async ({ database }: { database: TestDatabase }): Promise<string> => {
    const made = await uk(hostOf(database), ['backup', '--to', to, '--keep', '1'])
    assert.equal(made.status, 0, made.stderr)
    return made.stdout.toString().trim()
  }
  const [first, second] = await Promise.all([backUp(one), backUp(other)])
  assert.notEqual(first, second)
  // Each again, a second later, which is what its name says.
  await new Promise((resolve) => setTimeout(resolve, 1_100))
  const again = await backUp(one)
  const left = (await readdir(to, { recursive: true })).filter((name) => name.endsWith('manifest.json'))
  assert.deepEqual(
    left.map((name) => join(to, name, '..')).toSorted(),
    [again, second].toSorted(),
    'its own older one went, and no other',
  )
  await using empty = await testDatabase()
  const unsaid = await uk(hostOf(empty), ['restore', to])
  assert.equal(unsaid.status, 1)
  assert.match(unsaid.stderr, /contains backups of 2 instances. Choose one of them/)
  for (const path of [again, second]) {
    assert.ok(unsaid.stderr.includes(path), path)
    const whole = await uk(hostOf(empty), ['restore', path, '--dry-run'])
    assert.equal(whole.status, 0, whole.stderr)
  }
})

test('a backup whose partial folder was deleted fails', async () => {
  using dir = temporaryDir()
  await using target = await openTarget(dir.path, new Date())
  await target.put('database/accounts.1.copy.zst', Buffer.from('rows'))
  const [half] = (await readdir(dir.path)).filter((name) => name.endsWith('.partial'))
  await rm(join(dir.path, half!), { recursive: true })
  await assert.rejects(target.put('database/chats.1.copy.zst', Buffer.from('rows')), /can’t be written: ./)
  await assert.rejects(target.finish(Buffer.from('{}')), /can’t be written: ./)
})

test('a backup in a newer format is rejected with the version that wrote it, without changes', async () => {
  using dir = temporaryDir()
  await using server = await testServer()
  const made = await uk(hostOf(server.database), ['backup', '--to', join(dir.path, 'backups')])
  const path = join(made.stdout.toString().trim(), 'manifest.json')
  const [words = ''] = (await readFile(path, 'utf8')).split('\n')
  const rewrite = (changes: object): Promise<void> => {
    const changed = JSON.stringify({ ...JSON.parse(words), ...changes })
    return writeFile(path, `${changed}\n${createHash('sha256').update(changed).digest('hex')}\n`)
  }
  await using empty = await testDatabase()
  const refusal = async (): Promise<string> => {
    const ended = await uk(hostOf(empty), ['restore', join(dir.path, 'backups')])
    assert.equal(ended.status, 1)
    return ended.stderr
  }
  await rewrite({ format: 2, version: '9.1.0' })
  assert.match(await refusal(), /created by Ukiyo 9\.1\.0 in format 2, but this version reads only up to format 1/)
  await rewrite({ migrations: [...JSON.parse(words).migrations, '9000-much-later.sql'], version: '9.1.0' })
  assert.match(await refusal(), /from a newer Ukiyo \(9\.1\.0, with 9000-much-later\.sql\)/)
  await rewrite({ product: 'another' })
  assert.match(await refusal(), /isn’t a Ukiyo backup/)
})

test('a backup with an older schema is restored with its rows and works with the current server', async () => {
  using dir = temporaryDir()
  await using server = await testServer()
  const alice = await server.person('Alice')
  const { key } = await alice.key()
  const chat = (await alice.post('/chats', { title: 'From before' })).body.data.id
  await alice.post(`/chats/${chat}/messages`, { content: 'Hello', model: 'sim/echo' })
  await using older = await bareDatabase()
  await pourInto(older, server.database)
  const to = join(dir.path, 'older.tar')
  const made = await uk(hostOf(older), ['backup', '--to', to])
  assert.equal(made.status, 0, made.stderr)

  await using restored = await bareDatabase()
  const ended = await uk(hostOf(restored), ['restore', to])
  assert.equal(ended.status, 0, ended.stderr)
  // As every start does.
  const pool = new pg.Pool({ ...restored.connection, max: 1 })
  await migrate(pool)
  await pool.end()
  await using today = await testServer({ database: restored })
  const holder = caller(today.origin, { authorization: `Bearer ${key}` })
  const said = (await holder.get(`/chats/${chat}/messages`)).body.data
  assert.deepEqual(
    said.map(({ text }: { text: string }) => text),
    ['Hello', 'Hello'],
  )
  const on = await holder.post(`/chats/${chat}/messages`, { content: 'and on', model: 'sim/echo' })
  assert.equal(on.status, 200, on.text)
})

test('tables of another program in the same schema are skipped and reported, and the backup can be restored', async () => {
  using dir = temporaryDir()
  await using server = await testServer()
  const alice = await server.person('Alice')
  const file = (await upload(alice, { workspace_id: alice.workspaceId }, randomBytes(500), 'a.bin')).body.data.id
  {
    await using client = await connected(server.database)
    await client.query(`create table "Other's ""notes" (id bigserial primary key, of ulid references accounts, words text);
      insert into "Other's ""notes" (of, words) select id, 'hello' from accounts;
      create sequence numbers_of_others; create table empty_one (of int); create view seen as select * from accounts`)
  }
  const to = join(dir.path, 'backups')
  const made = await uk(hostOf(server.database), ['backup', '--to', to])
  assert.equal(made.status, 0, made.stderr)
  assert.match(made.stderr, /tables of other programs: "Other's "notes", "empty_one"/)
  await using empty = await testDatabase()
  const dry = await uk(hostOf(empty), ['restore', to, '--dry-run'])
  assert.equal(dry.status, 0, dry.stderr)
  const ended = await uk(hostOf(empty), ['restore', to])
  assert.equal(ended.status, 0, ended.stderr)
  await using restored = await testServer({ database: empty })
  const back = caller(restored.origin, alice.headers)
  assert.equal((await back.get(`/drive/files/${file}/metadata`)).status, 200)
})

test('a dry run loads the rows and reports every error a restore would', async () => {
  using dir = temporaryDir()
  await using server = await testServer()
  await server.person('Alice')
  const made = await uk(hostOf(server.database), ['backup', '--to', join(dir.path, 'backups')])
  const path = join(made.stdout.toString().trim(), 'manifest.json')
  const manifest = JSON.parse((await readFile(path, 'utf8')).split('\n')[0]!)
  await using empty = await testDatabase()
  const edits: Record<string, (tables: { name: string; columns: string[]; rows: number }[]) => void> = {
    'a row too few': (tables) => void tables.find(({ name }) => name === 'accounts')!.rows++,
    'a column nobody knows': (tables) => void tables.find(({ name }) => name === 'accounts')!.columns.push('shoe_size'),
  }
  for (const [what, edit] of Object.entries(edits)) {
    const changed = structuredClone(manifest)
    edit(changed.tables)
    await writeFile(path, writeManifest(changed, testRootKey))
    const dry = await uk(hostOf(empty), ['restore', join(dir.path, 'backups'), '--dry-run'])
    assert.equal(dry.status, 1, what)
    assert.match(dry.stderr, /the table "accounts"/, what)
    const real = await uk(hostOf(empty), ['restore', join(dir.path, 'backups')])
    assert.equal(real.status, 1, what)
    assert.match(real.stderr, /the table "accounts"/, what)
  }
})

async function connected({ connection }: TestDatabase): Promise<pg.Client & AsyncDisposable> {
  const client = new pg.Client(connection)
  await client.connect()
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() })
}

/** The rows of one database in the tables of an older schema, as far as these have their columns. */
async function pourInto(older: TestDatabase, from: TestDatabase): Promise<void> {
  await using target = await connected(older)
  await target.query(gunzipSync(await readFile(fixture)).toString())
  await target.query('reset all')
  await using origin = await connected(from)
  await target.query('set session_replication_role = replica')
  const known = new Set((await tablesOf(origin)).map(({ name }) => name))
  for (const { name, columns } of await inOrder(target, await tablesOf(target))) {
    if (name === 'migrations' || !known.has(name)) continue
    const { rows } = await origin.query<{ row: object }>(`select to_jsonb(t) as row from ${quoteIdentifier(name)} t`)
    const list = columns.map(quoteIdentifier).join(', ')
    await target.query(`delete from ${quoteIdentifier(name)}`)
    for (const { row } of rows)
      await target.query(
        `insert into ${quoteIdentifier(name)} (${list}) overriding system value select ${list} from jsonb_populate_record(null::${quoteIdentifier(name)}, $1)`,
        [JSON.stringify(row)],
      )
  }
  const ours = new Set((await sequencesOf(target)).map(({ name }) => name))
  for (const { name, value, called } of await sequencesOf(origin))
    if (ours.has(name))
      await target.query('select setval($1::regclass, $2::bigint, $3)', [quoteIdentifier(name), value, called])
}
