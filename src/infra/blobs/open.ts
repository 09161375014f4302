import { join } from 'node:path'
import type { Config } from '#config'
import type { Blobs } from './blobs.ts'
import { localBlobs } from './local.ts'

export async function openBlobs({
  blobs,
  s3Endpoint: endpoint,
  dataDir,
  environment,
}: Pick<Config, 'blobs' | 's3Endpoint' | 'dataDir' | 'environment'>): Promise<Blobs> {
  const [, bucket, prefix = ''] = /^s3:\/\/([^/]+)(?:\/(.*?))?\/*$/.exec(blobs) ?? []
  if (bucket === undefined) return localBlobs(join(dataDir, 'blobs'))
  const { s3Blobs } = await import('./s3.ts')
  return s3Blobs({ bucket, prefix, endpoint, environment })
}
