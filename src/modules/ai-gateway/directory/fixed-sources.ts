import { hostname } from 'node:os'
import type { Config } from '#config'
import type { Log } from '#infra/log.ts'
import type { Secrets } from '#infra/secrets.ts'
import { idOf } from '#core/ids.ts'
import { originOf } from '../endpoints/address.ts'
import { discoveredSources } from '../lists/local-engines.ts'
import { environmentSources } from '../endpoints/environment.ts'
import { type OwnSpeech, speechSource } from '../endpoints/own-speech.ts'
import type { Source } from '../endpoints/sources.ts'

/** `given`: from the environment. `looked`: local engines to probe. */
export interface FixedSources {
  given: Source[]
  looked: Source[]
}

export async function fixedSources(
  config: Config,
  log: Log,
  secrets: Secrets,
  speech: OwnSpeech | null,
): Promise<FixedSources> {
  const startedAt = new Date().toISOString()
  const configuredSources = environmentSources(config, log, startedAt).map((source) => withConnection(source, secrets))
  if (speech !== null) configuredSources.push(await speechSource(speech, startedAt))
  return {
    given: configuredSources,
    looked: discoveredSources(config, startedAt).map((source) => withConnection(source, secrets)),
  }
}

/** A discovered engine differs by machine. An endpoint from the environment is the same everywhere. */
function withConnection(source: Source, secrets: Secrets): Source {
  const { from, endpoint } = source
  if (from !== 'environment' && from !== 'discovered') return source
  const { id, shape, baseUrl, apiKey } = endpoint
  const words = JSON.stringify([from === 'discovered' ? hostname() : null, id, shape, baseUrl, apiKey])
  const connection = idOf('connection', secrets.sign('provider connection', words).toString('base64url'))
  return { ...source, endpoint: { ...endpoint, connection } }
}

export const isDiscovered = ({ from }: Source): boolean => from === 'discovered'

/** Omits probed engines whose address an administrator has configured. */
export function unlessGiven(probedSources: readonly Source[], configuredSources: readonly Source[]): Source[] {
  const places = new Set(configuredSources.map(({ endpoint }) => originOf(endpoint.baseUrl)))
  return probedSources.filter(({ endpoint }) => !places.has(originOf(endpoint.baseUrl)))
}
