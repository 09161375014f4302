import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Config, readConfig } from '#config'

/** Root keys from the environment or the data folder, newest first. Never creates one. */
export function presentKeys({ secretKeys, dataDir }: Pick<Config, 'secretKeys' | 'dataDir'>): string[] {
  if (secretKeys.length > 0) return [...secretKeys]
  const path = join(dataDir, 'secret-key')
  return existsSync(path) ? [readFileSync(path, 'utf8').trim()] : []
}

export function configHere(): Config {
  const { config, warnings } = readConfig(process.env)
  for (const warning of warnings) process.stderr.write(`warning: ${warning}\n`)
  return config
}
