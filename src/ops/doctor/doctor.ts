import { styleText } from 'node:util'
import pg from 'pg'
import { type Config, readConfig } from '#config'
import { openBlobs } from '#infra/blobs/open.ts'
import { attachDatabase } from '#infra/postgres/embedded/attach.ts'
import { type CheckResult, fail, off, plural, wordsOf } from './check.ts'
import * as database from './database.ts'
import { checkBlobs, checkDataDir, checkDisk, checkRootKey, checkSettings, untriedFolder } from './machine.ts'
import { checkBus, checkMail, checkPublicUrl } from './outside.ts'

export interface DoctorOptions {
  json: boolean
}

interface Named extends CheckResult {
  name: string
}

/**
 * `uk doctor`. Creates nothing if there is no instance. Returns 1 if something must be fixed. Throws if `signal` aborts
 * between two checks.
 */
export async function doctor({ json }: DoctorOptions, signal: AbortSignal): Promise<number> {
  const { config, warnings } = readConfig(process.env)
  const checks: Named[] = []
  const check = async (name: string, ask: () => CheckResult | Promise<CheckResult>): Promise<CheckResult> => {
    signal.throwIfAborted()
    const result = await Promise.resolve()
      .then(ask)
      .catch((error: unknown) => fail(`The check failed: ${wordsOf(error)}`, 'The other checks may show the cause.'))
    checks.push({ name, ...result })
    if (!json) show({ name, ...result })
    return result
  }
  await check('settings', () => checkSettings(warnings))
  await check('data dir', () => checkDataDir(config))
  await check('disk', () => checkDisk(config))
  const started = await checkAllOfDatabase(config, check)
  await check('files', async () => {
    const untried = untriedFolder(config, started)
    if (untried !== null) return untried
    try {
      await using blobs = await openBlobs(config)
      return await checkBlobs(blobs, config)
    } catch (error) {
      return fail(`Can't open the file storage: ${wordsOf(error)}`, 'Check UK_BLOBS, UK_S3_ENDPOINT and AWS_*.')
    }
  })
  await check('bus', () => checkBus(config))
  await check('mail', () => checkMail(config))
  await check('public url', () => checkPublicUrl(config))
  const failed = checks.filter(({ status }) => status === 'fail').length
  if (json) process.stdout.write(`${JSON.stringify({ ok: failed === 0, checks })}\n`)
  else {
    const warned = checks.filter(({ status }) => status === 'warn').length
    process.stdout.write(`${failed} failed, ${plural(warned, 'warning')}.\n`)
  }
  return failed === 0 ? 0 : 1
}

type Check = (name: string, ask: () => CheckResult | Promise<CheckResult>) => Promise<CheckResult>

/** Returns whether a server has ever started on this database. */
async function checkAllOfDatabase(config: Config, check: Check): Promise<boolean> {
  await using stack = new AsyncDisposableStack()
  let client: pg.Client | null = null
  const opened = await check('database', async () => {
    try {
      const { connection } = stack.use(await attachDatabase(config))
      client = new pg.Client({ ...connection, connectionTimeoutMillis: 10_000, application_name: 'ukiyo doctor' })
      client.on('error', () => {})
      await client.connect()
      stack.adopt(client, (open) => open.end().catch(() => {}))
      return await database.checkDatabase(client, config)
    } catch (error) {
      return fail(
        `Can't open the database: ${wordsOf(error)}`,
        config.databaseUrl === null ? 'Check UK_DATA_DIR and the server log.' : 'Check DATABASE_URL.',
      )
    }
  })
  if (opened.status === 'fail' || client === null) return false
  const db: pg.Client = client
  const schema = await check('schema', () => database.checkSchema(db))
  if (schema.status !== 'ok') {
    await check('root key', () => off("Skipped, since the schema isn't of this version.", 'Start the server once.'))
    return schema.status !== 'off'
  }
  await check('root key', async () => checkRootKey(config, await database.sealedWith(db)))
  await check('clock', () => database.checkClock(db))
  await check('server', () => database.checkServers(db))
  await check('jobs', () => database.checkJobs(db))
  await check('providers', () => database.checkProviders(db, config))
  await check('backups', () => database.checkBackups(db))
  return true
}

const signs = { ok: '✔', off: '–', warn: '!', fail: '✖' } as const
const styles = { ok: 'green', off: 'dim', warn: 'yellow', fail: 'red' } as const

function show({ name, status, message, advice }: Named): void {
  const line = (style: 'dim' | 'green' | 'yellow' | 'red', text: string): string =>
    styleText(style, text, { stream: process.stdout })
  process.stdout.write(`${line(styles[status], signs[status])} ${name.padEnd(11)} ${message}\n`)
  if (advice !== undefined) process.stdout.write(`  ${' '.repeat(11)} ${line('dim', advice)}\n`)
}
