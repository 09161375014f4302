// Thorough: run by the merge check, or by name.
/** What someone can do who may write where backups are kept, but doesn't have the root key. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { cp, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { zstdCompress, zstdDecompress } from 'node:zlib'
import { type Manifest, writeManifest } from '#infra/backup/layout/manifest.ts'
import { stampOf } from '#infra/backup/layout/target.ts'
import { testDatabase } from '../database.ts'
import { temporaryDir } from '../program.ts'
import { testServer } from '../server.ts'
import { until } from '../until.ts'
import { hostOf, keylessHostOf, tableHashes, uk } from './backup.ts'

const hashOf = (bytes: Uint8Array | string): string => createHash('sha256').update(bytes).digest('hex')

interface Opened {
  path: string
  manifest: Manifest
  words: string
  sum: string
  signature: string
}

async function open(path: string): Promise<Opened> {
  const [words = '', sum = '', signature = ''] = (await readFile(join(path, 'manifest.json'), 'utf8')).split('\n')
  return { path, words, sum, signature, manifest: JSON.parse(words) }
}
const write = ({ path }: Opened, bytes: string | Buffer): Promise<void> => writeFile(join(path, 'manifest.json'), bytes)
const withHash = (manifest: Manifest, signature = ''): string => {
  const words = JSON.stringify(manifest)
  return [words, hashOf(words), signature].join('\n')
}

/** Gives the account of the attacker the role of the administrator, in the rows and the hashes. */
async function promote({ path, manifest }: Opened): Promise<Manifest> {
  const changed = structuredClone(manifest)
  const table = changed.tables.find(({ name }) => name === 'accounts')!
  const [piece] = table.pieces
  const rows = (await promisify(zstdDecompress)(await readFile(join(path, piece!.name)))).toString()
  const at = table.columns.indexOf('administrator')
  const promoted = rows
    .split('\n')
    .map((row) =>
      row
        .split('\t')
        .with(row === '' ? 0 : at, row === '' ? '' : 't')
        .join('\t'),
    )
    .join('\n')
  assert.notEqual(promoted, rows)
  const packed = await promisify(zstdCompress)(Buffer.from(promoted))
  await writeFile(join(path, piece!.name), packed)
  Object.assign(piece!, { bytes: packed.length, sha256: hashOf(packed) })
  return changed
}

test('a changed, unsigned, swapped, truncated or replayed backup is rejected, and nothing of it is restored', async () => {
  using dir = temporaryDir()
  await using server = await testServer()
  await server.person('Alice')
  await server.person('Mallory')
  const host = hostOf(server.database)
  const to = join(dir.path, 'backups')
  const made: string[] = []
  for (let i = 0; i < 2; i += 1) {
    // A backup is named by its second: the next one needs another.
    await until(
      async () => stampOf(new Date()),
      (stamp) => !made[0]?.endsWith(stamp),
    )
    const { status, stdout, stderr } = await uk(host, ['backup', '--to', to])
    assert.equal(status, 0, stderr)
    made.push(stdout.toString().trim())
  }
  const [older, newer] = [await open(made[0]!), await open(made[1]!)]
  assert.match(newer.signature, /^hmac-sha256 [\w-]{8} [0-9a-f]{64}$/)

  const attacks: Record<string, [change: (copy: Opened) => Promise<unknown>, refusal: RegExp]> = {
    'rows changed, the signature kept': [
      async (copy) => write(copy, withHash(await promote(copy), copy.signature)),
      /was modified after it was created/,
    ],
    'rows changed, the signature removed': [
      async (copy) => write(copy, withHash(await promote(copy))),
      /has no signature/,
    ],
    'rows changed, signed with a key of the attacker': [
      async (copy) => write(copy, writeManifest(await promote(copy), 'a root key of the attacker, long enough')),
      /wasn't signed with the root key/,
    ],
    'a backup that needs no root key, unsigned': [
      async (copy) => write(copy, withHash({ ...(await promote(copy)), key: { ids: [], sealed: null } })),
      /has no signature/,
    ],
    'rows changed, the manifest kept': [promote, /in this backup is damaged/],
    'the manifest of the older backup': [
      (copy) => write(copy, [older.words, older.sum, older.signature, ''].join('\n')),
      /contains a backup from/,
    ],
    'the older signature below the newer manifest': [
      (copy) => write(copy, [newer.words, newer.sum, older.signature, ''].join('\n')),
      /was modified after it was created/,
    ],
    'a signature cut off': [(copy) => write(copy, `${copy.words}\n${copy.sum}\n`), /has no signature/],
    'a signature cut short': [
      (copy) => write(copy, `${copy.words}\n${copy.sum}\n${copy.signature.slice(0, -1)}\n`),
      /the signature of .* is damaged/,
    ],
    'a manifest cut short': [(copy) => write(copy, copy.words.slice(0, -200)), /the manifest of .* is damaged/],
    'a piece outside the backup': [
      (copy) => {
        const changed = structuredClone(copy.manifest)
        changed.tables[0]!.pieces = [{ name: '../../secret', bytes: 1, sha256: hashOf('x') }]
        return write(copy, withHash(changed, copy.signature))
      },
      /refers to a file outside the backup/,
    ],
    'the older backup under a newer name': [
      async ({ path }) => {
        await rm(path, { recursive: true })
        await cp(older.path, path, { recursive: true })
      },
      /contains a backup from/,
    ],
  }
  await using empty = await testDatabase()
  const nothing = await tableHashes(empty)
  for (const [attack, [change, refusal]] of Object.entries(attacks)) {
    await rename(newer.path, join(dir.path, 'kept'))
    await cp(join(dir.path, 'kept'), newer.path, { recursive: true })
    await change({ ...newer })
    const ended = await uk(hostOf(empty), ['restore', to])
    assert.deepEqual([ended.status, refusal.test(ended.stderr)], [1, true], `${attack}: ${ended.stderr}`)
    await rm(newer.path, { recursive: true })
    await rename(join(dir.path, 'kept'), newer.path)
  }
  assert.deepEqual(await tableHashes(empty), nothing)
  assert.deepEqual((await readdir(dirname(newer.path))).includes(basename(newer.path)), true)

  // What older versions wrote has no signature, and a host without the root key can't check one.
  await write(newer, `${newer.words}\n${newer.sum}\n`)
  const dry = await uk(hostOf(empty), ['restore', to, '--dry-run', '--unsigned', '--json'])
  assert.deepEqual([dry.status, JSON.parse(dry.stdout.toString()).signed], [0, false], dry.stderr)
  assert.match(dry.stderr, /has no signature/)
  await write(newer, [newer.words, newer.sum, newer.signature, ''].join('\n'))
  await using other = await testDatabase()
  const keyless = await uk(keylessHostOf(other), ['restore', to, '--without-key'])
  assert.equal(keyless.status, 0, keyless.stderr)
  assert.match(keyless.stderr, /The signature can't be verified/)
})

test('a backup with an encrypted root key is verified with that key', async () => {
  using dir = temporaryDir()
  await using server = await testServer()
  await server.person('Alice')
  const to = join(dir.path, 'backups')
  const passphrase = { UK_BACKUP_PASSPHRASE: 'correct horse battery' }
  const made = await uk({ ...hostOf(server.database), ...passphrase }, ['backup', '--to', to, '--with-key'])
  assert.equal(made.status, 0, made.stderr)
  const backup = await open(made.stdout.toString().trim())
  await using empty = await testDatabase()
  const restore = () => uk({ ...keylessHostOf(empty), ...passphrase }, ['restore', to])
  await write(backup, withHash({ ...backup.manifest, version: '0.0.0' }, backup.signature))
  const changed = await restore()
  assert.deepEqual(
    [changed.status, /was modified after it was created/.test(changed.stderr)],
    [1, true],
    changed.stderr,
  )
  await write(backup, [backup.words, backup.sum, backup.signature, ''].join('\n'))
  const whole = await restore()
  assert.equal(whole.status, 0, whole.stderr)
})
