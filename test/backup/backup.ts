import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { type TestDatabase, databaseUrl } from '../database.ts'
import { testRootKey } from '../server.ts'

export interface Ended {
  status: number | null
  signal: NodeJS.Signals | null
  stdout: Buffer
  stderr: string
}

/** `uk …` on the host of the instance with this database, as a program of its own. */
export function uk(
  environment: Record<string, string>,
  words: readonly string[],
  more: { input?: string; wrap?: readonly string[]; onSpawn?: (pid: number) => void } = {},
): Promise<Ended> {
  const line = [...(more.wrap ?? []), 'sh', join(import.meta.dirname, '../../bin/uk'), ...words]
  const child = spawn(line[0]!, line.slice(1), {
    env: { PATH: process.env.PATH, HOME: environment.UK_DATA_DIR, ...environment },
    detached: true,
  })
  more.onSpawn?.(child.pid!)
  child.stdin.on('error', () => {})
  child.stdin.end(more.input ?? '')
  const out: Buffer[] = []
  let stderr = ''
  child.stdout.on('data', (part: Buffer) => out.push(part))
  child.stderr.on('data', (part: Buffer) => (stderr += part.toString()))
  return new Promise((resolve) =>
    child.on('close', (status, signal) => resolve({ status, signal, stdout: Buffer.concat(out), stderr })),
  )
}

/** The environment of the host of an instance, whose data dir has the root key. */
export function hostOf(database: TestDatabase, more: Record<string, string> = {}): Record<string, string> {
  writeFileSync(join(database.dataDir, 'secret-key'), testRootKey, { mode: 0o600 })
  return keylessHostOf(database, more)
}

export const keylessHostOf = (database: TestDatabase, more: Record<string, string> = {}): Record<string, string> => ({
  DATABASE_URL: databaseUrl(database),
  UK_DATA_DIR: database.dataDir,
  ...more,
})

/** What belongs to server processes, and what a restore writes of itself. */
const OWN = ['processes', 'leases', 'presence', 'uploads', 'upload_parts', 'migrations']

/** A hash of all rows of each table. `but`: columns that are to differ, by their tables. */
export async function tableHashes(
  database: TestDatabase,
  but: Record<string, readonly string[]> = {},
): Promise<Record<string, string>> {
  const client = new pg.Client(database.connection)
  await client.connect()
  const hashes: Record<string, string> = {}
  try {
    await client.query(`set timezone = 'UTC'`)
    const { rows } = await client.query<{ name: string }>(
      `select relname as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace order by 1`,
    )
    for (const { name } of rows) {
      if (OWN.includes(name)) continue
      const left = [...(but[name] ?? []), 'xid'].map((column) => ` - '${column}'`).join('')
      const where = name === 'instance' ? `where name not in ('changes_epoch', 'restored', 'backup')` : ''
      const { rows: lines } = await client.query<{ line: string }>(
        `select (to_jsonb(t)${left})::text as line from ${name} t ${where} order by 1`,
      )
      hashes[name] = `${lines.length} ${createHash('sha256')
        .update(lines.map(({ line }) => line).join('\n'))
        .digest('hex')}`
    }
  } finally {
    await client.end()
  }
  return hashes
}
