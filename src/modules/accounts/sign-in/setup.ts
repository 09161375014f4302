import { randomBytes } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import type { Context, Engine } from '#infra/context.ts'
import type { Db } from '#infra/postgres/client.ts'
import { isSameText } from '#core/text/same-text.ts'

const FILE = 'setup-token'

/**
 * Returns the token for the first sign-up, shared by all processes, or null if an account exists. Also written to
 * `setup-token` in the data directory.
 */
export async function prepareSetupToken(db: Db, dataDir: string): Promise<string | null> {
  const { rows } = await sql<{ exists: boolean }>`select exists (select from accounts) as exists`.execute(db)
  if (rows[0]!.exists) {
    forgetSetupFile(dataDir)
    return null
  }
  const fresh = JSON.stringify(randomBytes(24).toString('base64url'))
  await sql`insert into instance (name, value) values ('setup_token', ${fresh}::jsonb) on conflict do nothing`.execute(
    db,
  )
  const token = await loadToken(db)
  writeFileSync(join(dataDir, FILE), `${token}\n`, { mode: 0o600 })
  return token
}

export async function isSetupToken(db: Db, candidate: string): Promise<boolean> {
  const token = await loadToken(db)
  return token !== null && isSameText(candidate, token)
}

/** Call it in the transaction of the first sign-up. */
export async function spendSetupToken(ctx: Context): Promise<void> {
  await sql`delete from instance where name = 'setup_token'`.execute(ctx.db)
  ctx.afterCommit(() => {
    forgetSetupFile(ctx.engine.config.dataDir)
    ctx.engine.bus.poke('setup')
  })
}

const LOOK_MS = 1_000

export function watchSetup({
  postgres,
  bus,
  config,
  log,
}: Pick<Engine, 'postgres' | 'bus' | 'config' | 'log'>): AsyncDisposable {
  let looking: Promise<void> | null = null
  const look = (): void => {
    looking ??= forgetOnceUsed(postgres.db, config.dataDir)
      .then((over) => {
        if (over) stop()
      })
      .catch((error: unknown) => log.debug({ error }, 'whether there is an account is not known now'))
      .finally(() => (looking = null))
  }
  const timer = setInterval(look, LOOK_MS)
  const subscription = bus.on('setup', look)
  function stop(): void {
    clearInterval(timer)
    subscription[Symbol.dispose]()
  }
  look()
  return {
    async [Symbol.asyncDispose]() {
      stop()
      await looking
    },
  }
}

async function forgetOnceUsed(db: Db, dataDir: string): Promise<boolean> {
  const { rows } = await sql<{ exists: boolean }>`select exists (select from accounts) as exists`.execute(db)
  if (rows[0]!.exists) forgetSetupFile(dataDir)
  return rows[0]!.exists
}

export const forgetSetupFile = (dataDir: string): void => rmSync(join(dataDir, FILE), { force: true })

async function loadToken(db: Db): Promise<string | null> {
  const { rows } = await sql<{ value: string }>`select value from instance where name = 'setup_token'`.execute(db)
  return rows[0]?.value ?? null
}
