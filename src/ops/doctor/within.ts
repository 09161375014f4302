import { readConfig } from '#config'
import type { Engine } from '#infra/context.ts'
import { type CheckResult, fail, wordsOf } from './check.ts'
import * as database from './database.ts'
import { checkBlobs, checkDataDir, checkDisk, checkRootKey, checkSettings } from './machine.ts'
import { checkBus, checkMail, checkPublicUrl } from './outside.ts'

/** The checks of `uk doctor` in a running server, one after the other, on its own connections. */
export async function checkWithin({
  config,
  postgres: { pool },
  blobs,
}: Pick<Engine, 'config' | 'postgres' | 'blobs'>): Promise<(CheckResult & { name: string })[]> {
  const checks: readonly (readonly [name: string, ask: () => CheckResult | Promise<CheckResult>])[] = [
    ['settings', () => checkSettings(readConfig(config.environment).warnings)],
    ['data dir', () => checkDataDir(config)],
    ['disk', () => checkDisk(config)],
    ['database', () => asked((client) => database.checkDatabase(client, config))],
    ['schema', () => asked(database.checkSchema)],
    ['root key', () => asked(async (client) => checkRootKey(config, await database.sealedWith(client)))],
    ['clock', () => asked(database.checkClock)],
    ['server', () => asked(database.checkServers)],
    ['jobs', () => asked(database.checkJobs)],
    ['providers', () => asked((client) => database.checkProviders(client, config))],
    ['backups', () => asked(database.checkBackups)],
    ['files', () => checkBlobs(blobs, config)],
    ['bus', () => checkBus(config)],
    ['mail', () => checkMail(config)],
    ['public url', () => checkPublicUrl(config)],
  ]
  async function asked<T>(ask: (client: Parameters<typeof database.checkSchema>[0]) => Promise<T>): Promise<T> {
    const client = await pool.connect()
    try {
      return await ask(client)
    } finally {
      client.release()
    }
  }
  const results: (CheckResult & { name: string })[] = []
  for (const [name, ask] of checks)
    results.push({
      name,
      ...(await Promise.resolve()
        .then(ask)
        .catch((error: unknown) =>
          fail(`The check failed: ${wordsOf(error)}`, 'The other checks may show the cause.'),
        )),
    })
  return results
}
