import { readFileSync } from 'node:fs'
import { sql } from 'kysely'
import type { Context } from '#infra/context.ts'
import { instanceId, valueOf } from '#infra/processes/instance.ts'
import { refuse } from '#core/errors.ts'
import { implementWith } from '#core/implement.ts'
import { iso } from '#core/time.ts'
import { instance } from './contract.ts'
import { countFiles } from './count-files.ts'

export interface Checked {
  name: string
  status: 'ok' | 'off' | 'warn' | 'fail'
  message: string
  advice?: string
}
export interface HasCheckUp {
  checkUp(): Promise<Checked[]>
}

interface Counted {
  first: Date
  accounts: number
  processes: number
  postgres: string
  database_bytes: string
}

export const instanceService = implementWith<Context<HasCheckUp>>()(instance, {
  async get(ctx) {
    requireAdministrator(ctx)
    const { config, versions } = ctx.engine
    const [counted] = (
      await sql<Counted>`select (select min(created_at) from accounts) as first,
          (select count(*)::int from accounts) as accounts,
          (select count(*)::int from processes where expires_at > now()) as processes,
          split_part(current_setting('server_version'), ' ', 1) as postgres,
          pg_database_size(current_database())::text as database_bytes`.execute(ctx.db)
    ).rows as [Counted]
    const backup = (await valueOf(ctx.db, 'backup')) as { at: string; where: string } | null
    return {
      id: await instanceId(ctx.db),
      created_at: iso(counted.first),
      versions: {
        program: programVersion(),
        api: versions.newest,
        node: process.versions.node,
        postgres: counted.postgres,
      },
      processes: counted.processes,
      accounts: counted.accounts,
      storage: {
        database_bytes: Number(counted.database_bytes),
        embedded: config.databaseUrl === null,
        ...(await countFiles(ctx.db)),
        blobs: config.blobs,
      },
      queue: await queueOf(ctx),
      last_backup: backup && { at: iso(new Date(backup.at)), where: backup.where },
      mail: config.smtpUrl !== null,
      identity_provider: config.oidc?.name ?? null,
      sign_up: config.signUp,
    }
  },

  async check(ctx) {
    requireAdministrator(ctx)
    const checks = await ctx.engine.checkUp()
    return {
      id: await instanceId(ctx.db),
      created_at: iso(ctx.now()),
      checks: checks.map(({ name, status, message, advice = null }) => ({ name, status, message, advice })),
    }
  },
})

async function queueOf({ db }: Context) {
  const { rows } = await sql<{ waiting: number; running: number; late: number; failed: number }>`select
      count(*) filter (where attempts < max_attempts and locked_at is null)::int as waiting,
      count(*) filter (where locked_at is not null)::int as running,
      count(*) filter (where attempts < max_attempts and locked_at is null and run_at < now() - interval '5 minutes')::int as late,
      count(*) filter (where attempts >= max_attempts and locked_at is null)::int as failed
    from graphile_worker._private_jobs`.execute(db)
  return rows[0]!
}

const programVersion = (): string =>
  (JSON.parse(readFileSync(`${import.meta.dirname}/../../../package.json`, 'utf8')) as { version: string }).version

function requireAdministrator({ principal }: Context): void {
  if (!principal.administrator)
    refuse('insufficient_role', { message: 'Only an administrator of this instance can do this.' })
}
