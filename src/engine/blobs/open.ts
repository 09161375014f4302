import { join } from 'node:path'
import type { Config } from '#config'
import type { Blobs } from './blobs.ts'
import { localBlobs } from './local.ts'

/** The store that `UK_BLOBS` names. What only one of them needs is loaded with it. */
export async function openBlobs({ dataDir }: Pick<Config, 'blobs' | 's3Endpoint' | 'dataDir'>): Promise<Blobs> {
  return localBlobs(join(dataDir, 'blobs'))
}
