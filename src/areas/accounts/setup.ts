import { randomBytes, timingSafeEqual } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import type { Db } from '#engine/postgres/client.ts'

/**
 * The token that the first sign-up needs: one for the instance, whichever process answers. Null once there is an account.
 * Kept as `setup-token` in the data dir while it is needed, for whoever did not see it at start.
 */
export async function prepareSetupToken(db: Db, dataDir: string): Promise<string | null> {
  const path = join(dataDir, 'setup-token')
  const { rows } = await sql<{ exists: boolean }>`select exists (select from accounts) as exists`.execute(db)
  if (rows[0]!.exists) {
    rmSync(path, { force: true })
    return null
  }
  const fresh = JSON.stringify(randomBytes(24).toString('base64url'))
  await sql`insert into instance (name, value) values ('setup_token', ${fresh}::jsonb) on conflict do nothing`.execute(
    db,
  )
  const token = await stored(db)
  writeFileSync(path, `${token}\n`, { mode: 0o600 })
  return token
}

export async function isSetupToken(db: Db, given: string): Promise<boolean> {
  const token = Buffer.from((await stored(db)) ?? '')
  const other = Buffer.from(given)
  return token.length > 0 && token.length === other.length && timingSafeEqual(token, other)
}

async function stored(db: Db): Promise<string | null> {
  const { rows } = await sql<{ value: string }>`select value from instance where name = 'setup_token'`.execute(db)
  return rows[0]?.value ?? null
}
